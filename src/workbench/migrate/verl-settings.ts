import { parse } from 'yaml'
import { GatewayError } from '../../core/errors.ts'
import type { Tree } from './expand-config.ts'
import { shellWords } from './shell-words.ts'

/** The `reward_model` section of verl's settings. */
export type Section = { readonly [key: string]: Tree }

const longest = 4 * 1024 * 1024
const override = /^(?:\+{1,2}|(~))?reward_model\.([\w.]+)(?:=([\s\S]*))?$/
/** What a file without the key `reward_model` must hold to be the section itself. */
const tellTale = ['reward_function', 'reward_weight', 'reward_combine_func']

/**
 * Reads a YAML or JSON config, or the overrides `reward_model.x=...` of a launch script. Throws RG_INPUT_INVALID where
 * the text holds no such settings.
 */
export function readVerlSettings(file: string, text: string): Section {
  const invalid = (message: string) =>
    new GatewayError('RG_INPUT_INVALID', `${file}: ${message}`, { problems: [{ path: file, message }] })
  if (text.length > longest) throw invalid(`has more than ${longest} characters`)
  const config = asConfig(text)
  if (config) return config
  const section: Record<string, Tree> = {}
  let found = false
  for (const word of shellWords(text)) {
    const [, removed, key = '', written] = override.exec(word) ?? []
    if (key === '') continue
    found = true
    const path = key.split('.')
    if (path.includes('__proto__')) throw invalid(`reward_model.${key}: no setting can be called so`)
    set(section, path, removed ? undefined : treeOf(written ?? ''))
  }
  if (!found) throw invalid('holds no reward_model settings, as a config or as overrides of a launch script')
  return section
}

function asConfig(text: string): Section | null {
  let value: unknown
  try {
    value = parse(text, { maxAliasCount: 100 })
  } catch {
    return null
  }
  if (!isSection(value)) return null
  if (isSection(value.reward_model)) return value.reward_model
  return tellTale.some((key) => Object.hasOwn(value, key)) ? value : null
}

/** As Hydra reads the right side of an override; what it cannot read is a text. */
function treeOf(written: string): Tree {
  try {
    const value: unknown = parse(written.replace(/\$\{([^{}]*)\}/g, '\u2063$1\u2064'))
    return restored((value ?? null) as Tree)
  } catch {
    return written
  }
}

/** A variable inside `[...]` is no mapping of YAML. */
function restored(value: Tree): Tree {
  if (typeof value === 'string') return value.replace(/\u2063([^\u2064]*)\u2064/g, (_, name) => `\${${name}}`)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(restored)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, restored(item)]))
}

function set(section: Record<string, Tree>, path: readonly string[], value: Tree | undefined): void {
  const [key = '', ...rest] = path
  if (rest.length === 0) {
    if (value === undefined) delete section[key]
    else section[key] = value
    return
  }
  const below = Object.hasOwn(section, key) ? section[key] : undefined
  const inner: Record<string, Tree> = isSection(below) ? { ...below } : {}
  section[key] = inner
  set(inner, rest, value)
}

const isSection = (value: unknown): value is Section =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
