import { parse } from 'yaml'
import { GatewayError } from '../../core/errors.ts'

/** The `reward_model` section of verl's settings. */
export type Section = { readonly [key: string]: Tree }

const longest = 4 * 1024 * 1024
const override = /^(?:\+{1,2}|(~))?reward_model\.([\w.]+)(?:=([\s\S]*))?$/
/** Without a `reward_model` key, a file is the section itself if it has one of these. */
const tellTale = ['reward_function', 'reward_weight', 'reward_combine_func']

/**
 * Reads a YAML or JSON config, or the overrides `reward_model.x=...` of a launch script. Throws
 * RG_INPUT_INVALID if there are no such settings.
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
    if (path.includes('__proto__')) throw invalid(`reward_model.${key}: this is not a valid setting name`)
    set(section, path, removed ? undefined : treeOf(written ?? ''))
  }
  if (!found)
    throw invalid('has no reward_model settings, neither as a config nor as overrides of a launch script')
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

/** Parses an override's value like Hydra. Invalid YAML is a text. */
function treeOf(written: string): Tree {
  try {
    const value: unknown = parse(written.replace(/\$\{([^{}]*)\}/g, '\u2063$1\u2064'))
    return restored((value ?? null) as Tree)
  } catch {
    return written
  }
}

/** Restores variables, which YAML would parse as mappings inside `[...]`. */
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

/** Plain data of a config. */
export type Tree = null | boolean | number | string | readonly Tree[] | { readonly [key: string]: Tree }

/**
 * VeRL-with-RMs writes several reward models as lists in one section. Returns one section for each list
 * index. All lists, including nested ones, must have the same length; otherwise throws RangeError. Without
 * lists, returns the config itself.
 */
export function expandConfig(config: Tree): readonly Tree[] {
  const lengths = new Set(listLengths(config))
  if (lengths.size > 1)
    throw new RangeError(`lists of ${[...lengths].sort((a, b) => a - b).join(' and ')} entries`)
  const [count] = lengths
  return count === undefined ? [config] : Array.from({ length: count }, (_, index) => chosen(config, index))
}

/** Every list of a config with its dotted key and its length. */
export function listsIn(config: Tree, at = ''): readonly { readonly key: string; readonly length: number }[] {
  if (!isTree(config)) return []
  const own = Array.isArray(config) ? [{ key: at, length: config.length }] : []
  return [
    ...own,
    ...Object.entries(config).flatMap(([key, item]) => listsIn(item, at === '' ? key : `${at}.${key}`)),
  ]
}

const listLengths = (config: Tree): readonly number[] => listsIn(config).map(({ length }) => length)

function chosen(value: Tree, index: number): Tree {
  if (!isTree(value)) return value
  if (Array.isArray(value)) return chosen(value[index], index)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, chosen(item, index)]))
}

const isTree = (value: Tree): value is Exclude<Tree, string | number | boolean | null> =>
  typeof value === 'object' && value !== null

/** A part of a word. Variables are not expanded in `literal` text. */
interface Piece {
  readonly text: string
  readonly literal: boolean
}

const variable = /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::-([^}]*))?\})/g
const assignment = /^([A-Za-z_]\w*)=(.*)$/s

/**
 * Splits a launch script into words: resolves quotes and line continuations, drops comments and expands
 * variables that the script assigns. Other variables stay `${NAME}`. Control flow is ignored. Linear time.
 */
function shellWords(script: string): readonly string[] {
  const assigned = new Map<string, string>()
  return rawWords(script).map((pieces) => {
    const word = pieces.map(({ text, literal }) => (literal ? text : filled(text, assigned))).join('')
    const found = assignment.exec(word)
    if (found) assigned.set(found[1] ?? '', found[2] ?? '')
    return word
  })
}

const filled = (text: string, assigned: ReadonlyMap<string, string>): string =>
  text.replace(variable, (_, plain?: string, braced?: string, fallback?: string) => {
    const name = plain ?? braced ?? ''
    return assigned.get(name) ?? (fallback === undefined ? `\${${name}}` : `\${${name}:-${fallback}}`)
  })

function rawWords(script: string): Piece[][] {
  const words: Piece[][] = []
  let word: Piece[] = []
  const end = () => {
    if (word.length > 0) words.push(word)
    word = []
  }
  for (let at = 0; at < script.length; ) {
    const char = script[at] ?? ''
    const [close, literal] = char === "'" ? ["'", true] : char === '"' ? ['"', false] : ['', false]
    if (close !== '') {
      const stop = endOfQuote(script, at + 1, close)
      const text = script.slice(at + 1, stop)
      word.push({
        text: literal ? text : text.replace(/\\(["\\$`\n])/g, (_, c) => (c === '\n' ? '' : c)),
        literal,
      })
      at = stop + 1
    } else if (char === '\\') {
      if (script[at + 1] !== '\n') word.push({ text: script[at + 1] ?? '', literal: true })
      at += 2
    } else if (/[\s;&|()]/.test(char)) {
      end()
      at++
    } else if (char === '#' && word.length === 0) {
      const line = script.indexOf('\n', at)
      at = line === -1 ? script.length : line
    } else {
      const stop = endOfPlain(script, at)
      word.push({ text: script.slice(at, stop), literal: false })
      at = stop
    }
  }
  end()
  return words
}

function endOfQuote(script: string, start: number, close: string): number {
  for (let at = start; at < script.length; at++) {
    if (script[at] === close) return at
    if (close === '"' && script[at] === '\\') at++
  }
  return script.length
}

function endOfPlain(script: string, start: number): number {
  const stop = /[\s;&|()'"\\]/g
  stop.lastIndex = start + 1
  return stop.exec(script)?.index ?? script.length
}
