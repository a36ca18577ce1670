import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Jiti } from 'jiti'
import * as zod from 'zod'
import { askNames } from '../../../contract/asks.ts'
import type { PartAsk, RewardFunction } from '../../../contract/index.ts'
import * as contract from '../../../contract/index.ts'
import type { FunctionSource } from '../discover.ts'
import { loadErrorText } from './error-text.ts'

/** A loaded function, or why its file cannot be used. */
export type Loaded =
  | { readonly ok: true; readonly fn: RewardFunction }
  | { readonly ok: false; readonly reason: string }

/** Loads each file once per executor, from the texts in its source, so that later edits do not count. `load` never rejects. */
export function loader(sources: readonly FunctionSource[]): {
  /** What was loaded, by name. */
  readonly loaded: ReadonlyMap<string, Loaded>
  load(name: string): Promise<Loaded>
} {
  const byName = new Map(sources.map((source) => [source.name, source]))
  const loaded = new Map<string, Loaded>()
  let jiti: Promise<Jiti> | undefined
  const usersLoader = () => {
    jiti ??= createUsersLoader(sources)
    return jiti
  }
  return {
    loaded,
    async load(name) {
      const source = byName.get(name)
      const made: Loaded = source
        ? await read(source, usersLoader)
        : { ok: false, reason: 'there is no file of this name' }
      loaded.set(name, made)
      return made
    },
  }
}

async function read(source: FunctionSource, usersLoader: () => Promise<Jiti>): Promise<Loaded> {
  try {
    if (source.loader === 'native')
      return checked(((await import(pathToFileURL(source.file).href)) as { default?: unknown }).default)
    const module: unknown = await (await usersLoader()).import(source.file)
    // Node reads some plain JavaScript from the file itself, which may have been edited since.
    const changed = Object.keys(source.texts).find((path) => /js$/.test(path) && isChanged(source, path))
    if (changed !== undefined)
      return { ok: false, reason: `${basename(changed)} was changed after it was read: reload the configs` }
    return checked((module as { default?: unknown }).default)
  } catch (error) {
    return { ok: false, reason: `does not load: ${loadErrorText(error)}` }
  }
}

function isChanged({ texts }: FunctionSource, path: string): boolean {
  try {
    return readFileSync(path, 'utf8') !== texts[path]
  } catch {
    return true
  }
}

/**
 * Users' files can import this package's modules without a node_modules folder. They run the texts that were read with the
 * configs, not what their files hold now.
 */
async function createUsersLoader(sources: readonly FunctionSource[]): Promise<Jiti> {
  // Loaded here, because the gateway and the threads of the package's functions need neither.
  const { createJiti } = await import('jiti')
  const readers = await import('../../../grading/readers.ts')
  const virtualModules = {
    zod,
    'reward-gateway/contract': contract,
    'reward-gateway/grading': readers,
    // The former name of `reward-gateway/grading`.
    'reward-gateway/extract': readers,
    'reward-gateway/testing': await import('../../../contract/testing.ts'),
  }
  const texts = new Map(sources.flatMap((source) => Object.entries(source.texts)))
  const options = { fsCache: false, interopDefault: false, virtualModules }
  const plain = createJiti(import.meta.url, options)
  return createJiti(import.meta.url, {
    ...options,
    transform: (given) => ({
      code: plain.transform({ ...given, source: texts.get(given.filename ?? '') ?? given.source }),
    }),
  })
}

const hooksOf: Readonly<Record<RewardFunction['kind'], readonly string[]>> = {
  rule: ['score'],
  'group-rule': ['score'],
  model: ['rm_preprocess'],
  pair: ['rm_preprocess', 'rm_postprocess'],
  list: ['rm_preprocess', 'rm_postprocess'],
  questions: ['rm_preprocess', 'rm_postprocess', 'combine'],
  'group-questions': ['rm_preprocess', 'rm_postprocess', 'combine'],
  program: ['rm_preprocess', 'rm_postprocess'],
}

/** What rewards of several questions may ask. */
const asksOfSeveral: Readonly<Record<string, readonly string[]>> = {
  questions: ['generate', 'decide'] satisfies PartAsk[],
  'group-questions': ['generate'],
}

function checked(exported: unknown): Loaded {
  if (exported === undefined) {
    const shared = 'files that only share code belong in a folder below'
    return {
      ok: false,
      reason: `has no default export: write \`export default defineRule({ ... })\`; ${shared}`,
    }
  }
  const fn = exported as RewardFunction & Record<string, unknown>
  if (typeof fn !== 'object' || fn === null || !Object.hasOwn(hooksOf, String(fn.kind))) {
    return {
      ok: false,
      reason: `its default export is not what defineRule, defineModelReward or another define function of 'reward-gateway/contract' returns`,
    }
  }
  const missing = hooksOf[fn.kind].find((hook) => typeof fn[hook] !== 'function')
  if (missing) return { ok: false, reason: `its ${missing} is not a function` }
  if ('ask' in fn && !askNames.some((name) => name === fn.ask))
    return { ok: false, reason: `its ask is none of ${askNames.join(', ')}` }
  const several = asksOfSeveral[fn.kind]
  if (several && !several.includes(String(fn.ask)))
    return { ok: false, reason: `its ask is not ${several.join(' or ')}, of which it has several questions` }
  if (typeof fn.options?.safeParse !== 'function')
    return { ok: false, reason: 'its options are not a zod schema' }
  return { ok: true, fn }
}
