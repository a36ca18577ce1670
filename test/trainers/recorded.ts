import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { toolCallsOf, turnsOf } from '../../src/contract/index.ts'
import type { Message, Sample, Unreadable } from '../../src/core/sample/sample.ts'
import { trainerFormats } from '../../src/trainers/index.ts'
import { readNativeRows } from '../../src/trainers/native.ts'

const folder = 'test/fixtures/trainers/recorded'

/** A request for one rollout: a prompt with an image, a call with its result, an answer. */
export interface Recorded {
  readonly name: string
  /** The package whose code sent it, and its version. */
  readonly recorded: string
  readonly path: string
  readonly body: { readonly samples?: readonly unknown[] }
}

/** What test/published-trainers/test_recorded.py recorded of trainers' own code. */
export const recordedRequests = (): readonly Recorded[] =>
  readdirSync(folder)
    .sort()
    .map((file) => ({
      name: basename(file, '.json'),
      ...JSON.parse(readFileSync(join(folder, file), 'utf8')),
    }))

/** The sample that arrives. */
export async function sampleOf({ name, path, body }: Recorded): Promise<Sample> {
  const [row] = body.samples ? await readNativeRows(body.samples, []) : await wireRows(path, body)
  if (!row || 'failure' in row) throw new Error(`${name}: ${row?.failure.detail}`)
  return row
}

async function wireRows(path: string, body: unknown): Promise<readonly (Sample | Unreadable)[]> {
  const [, , trainer, , ...rest] = path.split('/')
  const route = trainerFormats.find((format) => format.name === trainer)?.routes[
    rest.length === 0 ? '' : `/${rest.join('/')}`
  ]
  if (!route) throw new Error(`${path} is not served`)
  const request = { query: {}, literals: [], groundTruths: null, maxRowValues: 1000 }
  return (await route.read({ ...request, body: route.body.parse(body) })).rows
}

/** What is left of the rollout in a sample. */
export interface Kept {
  readonly turns: number
  readonly calls: readonly string[]
  readonly results: readonly string[]
  readonly reasoning: boolean
  /** Of the prompt, and of results: their bytes, only their places, or null for none. */
  readonly images: { readonly prompt: 'bytes' | 'places' | null; readonly results: 'bytes' | 'places' | null }
}

export function keptOf(sample: Sample): Kept {
  const calls = toolCallsOf(sample)
  const outside = turnsOf(sample).filter(({ role }) => role !== 'assistant')
  return {
    turns: turnsOf(sample).length,
    calls: calls.map(({ name, arguments: given }) => `${name}(${JSON.stringify(given)})`),
    results: calls.flatMap(({ result }) => result ?? []),
    reasoning: turnsOf(sample).some(({ reasoning }) => reasoning !== undefined),
    images: {
      prompt: imagesIn(typeof sample.prompt === 'string' ? [] : sample.prompt),
      results: imagesIn(outside),
    },
  }
}

function imagesIn(messages: readonly Message[]): 'bytes' | 'places' | null {
  const images = messages.flatMap(({ parts = [] }) => parts.filter(({ type }) => type === 'image'))
  if (images.length === 0) return null
  return images.every((image) => image.type === 'image' && image.size > 0) ? 'bytes' : 'places'
}

/** The table of docs/trainers.md. */
export async function keptTable(): Promise<string> {
  const rows = await Promise.all(
    recordedRequests().map(async (one) => {
      const { turns, calls, results, reasoning, images } = keptOf(await sampleOf(one))
      const cells = [
        one.name.replaceAll('-', ' '),
        one.recorded,
        turns > 1 ? `all ${turns}` : 'one text',
        calls.length > 0 ? 'yes' : 'no',
        results.length > 0 ? 'yes' : 'no',
        reasoning ? 'yes' : 'no',
        images.prompt ?? 'no',
        images.results ?? 'no',
      ]
      return `| ${cells.join(' | ')} |\n`
    }),
  )
  const head =
    '| trainer | recorded from | turns | tool calls | results | reasoning | images of the prompt | images of results |\n'
  return `${head}| --- | --- | --- | --- | --- | --- | --- | --- |\n${rows.join('')}`
}
