import { isDeepStrictEqual } from 'node:util'
import { isMap, isScalar, type Node, Pair, Scalar, YAMLMap } from 'yaml'
import {
  isMoved,
  lastPart,
  namesOf,
  newValue,
  optionsAt,
  partsOf,
  type Renaming,
  renamings,
  sectionOf,
} from '../../scoring/plan/renamed-settings.ts'
import {
  breakOf,
  ConfigNodes,
  type Edit,
  type Entry,
  edited,
  isWholeLine,
  joined,
  lineCounterOf,
  lineEnd,
  lineStart,
  linesAbove,
  nextLine,
  quotedAs,
  renamedKey,
  startsLine,
} from './config-edit.ts'

/** The result for one old setting. */
interface Fix {
  readonly line: number
  readonly message: string
}

/** A config's text with its old settings renamed. */
interface FixedConfig {
  readonly text: string
  readonly fixes: readonly Fix[]
  /** Old settings that must be renamed by hand, and why. */
  readonly remaining: readonly Fix[]
}

/** Whether a function accepts a value of an option; false for unknown functions. */
type TakesOption = (name: string, key: string, value: string) => boolean

/** An old setting in a text. */
interface OldSetting {
  readonly renaming: Renaming
  readonly entry: Entry
  /** The new value; null: unchanged. */
  readonly by: string | null
  readonly line: number
  /** The old and the new name, for messages. */
  readonly names: readonly [string, string]
}

/**
 * Renames old settings in a config's text and keeps every other byte. It changes nothing in a text with syntax errors, and
 * leaves settings that it cannot rename without changing the config's meaning.
 */
export function fixConfig(text: string, takes: TakesOption): FixedConfig {
  const together = [
    ...renamings.filter((one) => !isMoved(one)).map((one) => [one]),
    renamings.filter((one) => isMoved(one)),
  ]
  let fixed: FixedConfig = { text, fixes: [], remaining: [] }
  let nodes = ConfigNodes.of(text)
  for (const some of together) {
    const found = nodes
      ? some.flatMap((one) => oldSettings(one, nodes as ConfigNodes, fixed.text, takes))
      : []
    if (!nodes || found.length === 0) continue
    fixed = renamed(fixed, nodes, found)
    nodes = ConfigNodes.of(fixed.text)
  }
  return fixed
}

function renamed(before: FixedConfig, nodes: ConfigNodes, found: readonly OldSetting[]): FixedConfig {
  const { text } = before
  const results = found.every(({ renaming }) => isMoved(renaming))
    ? moveSettings(nodes, text, found)
    : renameInPlace(nodes, found)
  const edits = results.flatMap((result) => (typeof result === 'string' ? [] : result))
  const after = edited(text, edits)
  // The nodes were changed along with the text, so both must give the same data.
  const isSame = edits.length === 0 || isDeepStrictEqual(ConfigNodes.of(after)?.data(), nodes.data())
  const fixes: Fix[] = []
  const left: Fix[] = []
  for (const [at, { line, names }] of found.entries()) {
    const [from, to] = names
    const result = isSame ? (results[at] ?? []) : 'it is written in an unusual way'
    if (typeof result === 'string')
      left.push({ line, message: `\`${from}\` is now called \`${to}\`, but ${result}: rename it by hand` })
    else fixes.push({ line, message: `\`${from}\` is \`${to}\` now` })
  }
  return {
    text: isSame ? after : text,
    fixes: [...before.fixes, ...fixes],
    remaining: [...before.remaining, ...left],
  }
}

/** Finds old names, and old values of settings that keep their name. */
function oldSettings(
  renaming: Renaming,
  nodes: ConfigNodes,
  text: string,
  takes: TakesOption,
): readonly OldSetting[] {
  const { from, to } = renaming
  const lines = lineCounterOf(text)
  const taken = sectionOf(from) === optionsAt ? optionsTaking(renaming, nodes, takes) : null
  return nodes.entriesAt(partsOf(from)).flatMap((entry): OldSetting[] => {
    const value = nodes.resolved(entry.pair.value)
    const old = isScalar(value) ? value.value : undefined
    const by = newValue(renaming, old)
    if ((from === to && by === null) || (taken && !taken.has(entry.map))) return []
    const { line } = lines.linePos(entry.pair.key.range?.[0] ?? 0)
    return [{ renaming, entry, by, line, names: namesOf(renaming, old) }]
  })
}

/** The options of those steps whose function accepts the new values. */
function optionsTaking(
  { from, values = {} }: Renaming,
  nodes: ConfigNodes,
  takes: TakesOption,
): ReadonlySet<unknown> {
  const [first = ''] = Object.values(values)
  return new Set(
    nodes.entriesAt(partsOf(sectionOf(from))).flatMap(({ map, pair }) => {
      const name = nodes.valueOf(map, 'function')
      const isTaken = isScalar(name) && takes(String(name.value), lastPart(from), first)
      return isTaken ? [nodes.resolved(pair.value)] : []
    }),
  )
}

/** The edits of each setting that stays in its section, or why there are none. Also changes the nodes. */
function renameInPlace(
  nodes: ConfigNodes,
  found: readonly OldSetting[],
): readonly (readonly Edit[] | string)[] {
  const ours = new Set<unknown>(found.map(({ entry }) => entry.pair.value))
  return found.map(({ renaming: { from, to, values }, entry: { map, pair }, by }) => {
    const name = lastPart(to)
    if (from !== to && map.items.some(({ key }) => isScalar(key) && key.value === name))
      return `\`${name}\` is set as well`
    const edits: Edit[] = []
    if (values) {
      const scalar = nodes.resolved(pair.value)
      const range = pair.value?.range
      if (by === null || !range || !isScalar(scalar)) return 'its value has no new name'
      const aliases = nodes.aliasesOf(scalar)
      const areAllOurs = ours.has(scalar) && aliases.every((alias) => ours.has(alias))
      if (scalar === pair.value) {
        if (!areAllOurs) return 'its value has an anchor that is used elsewhere'
        scalar.value = by
        edits.push({ start: range[0], end: range[1], text: quotedAs(by, scalar, pair.key) })
      } else if (!areAllOurs) {
        pair.value = new Scalar(by)
        edits.push({ start: range[0], end: range[1], text: quotedAs(by, pair.key) })
      }
    }
    if (from !== to) {
      edits.push(renamedKey(pair.key, name))
      pair.key.value = name
    }
    return edits
  })
}

/** The names of the functions in a config, whose options may hold old values. */
export function functionsOf(text: string): readonly string[] {
  const entries = ConfigNodes.of(text)?.entriesAt(partsOf('steps.*.function')) ?? []
  return entries.flatMap(({ pair: { value } }) => (isScalar(value) ? [String(value.value)] : []))
}

/** A setting to move to another section. */
interface Moving {
  readonly renaming: Renaming
  readonly entry: Entry
}

type Section = Pair<Scalar, Node | null>

/**
 * The edits that move settings from one top-level section to another, or why there are none. Also changes the nodes. A
 * section with no other settings is renamed; otherwise a missing new section is added after it.
 */
function moveSettings(
  nodes: ConfigNodes,
  text: string,
  moving: readonly Moving[],
): readonly (readonly Edit[] | string)[] {
  const result = movesOf(nodes, text, moving)
  return moving.map((_, at) => (typeof result === 'string' ? result : at === 0 ? result : []))
}

function movesOf({ root }: ConfigNodes, text: string, moving: readonly Moving[]): readonly Edit[] | string {
  const unusual = 'it is written in an unusual way'
  const [first] = moving
  if (!first || !isMap(root)) return unusual
  const [from, to] = [sectionOf(first.renaming.from), sectionOf(first.renaming.to)]
  const old = sectionAt(root, from)
  const other = sectionAt(root, to)
  const map = old?.value
  if (!old || !isMap(map) || moving.some(({ entry }) => entry.map !== map)) return unusual
  const names = moving.map(({ renaming }) => lastPart(renaming.to))
  if (!other && map.items.length === moving.length) {
    const edits = moving.map(({ entry: { pair } }, at) => renamedKey(pair.key, names[at] ?? ''))
    edits.push(renamedKey(old.key, to))
    for (const [at, { entry }] of moving.entries()) entry.pair.key.value = names[at]
    old.key.value = to
    return edits
  }
  if (other && !(isMap(other.value) && other.value.items.length > 0)) return `\`${to}\` is set as well`
  const there = other && isMap(other.value) ? other.value : null
  if (there?.items.some(({ key }) => isScalar(key) && names.includes(String(key.value))))
    return 'the new one is set as well'
  const settings = moving.map(({ entry: { pair } }, at) => settingOf(pair, names[at] ?? '', text))
  if (settings.some((one) => one === null)) return unusual
  const written = settings.filter((one) => one !== null)
  const gone = removed(map, moving, text)
  const added =
    other && there ? addedTo(other, there, written, text) : addedBehind(root, old, to, written, text)
  if (!gone || !added) return unusual
  const emptied = map.items.length === moving.length && !map.flow
  const after = text.indexOf(':', old.key.range?.[1] ?? 0) + 1
  map.items = map.items.filter((item) => !moving.some(({ entry }) => entry.pair === item))
  const pairs = moving.map(({ entry }, at) => new Pair(new Scalar(names[at]), entry.pair.value))
  if (there) there.items.unshift(...pairs)
  else {
    const made = new YAMLMap()
    made.items.push(...pairs)
    root.items.push(new Pair(new Scalar(to), made))
  }
  return [...gone, ...added, ...(emptied ? [{ start: after, end: after, text: ' {}' }] : [])]
}

const sectionAt = (root: YAMLMap, name: string): Section | undefined =>
  root.items.find((item): item is Section => isScalar(item.key) && item.key.value === name)

/** A setting's text and comments. */
interface Setting {
  /** Comment lines directly above it. */
  readonly above: readonly string[]
  readonly text: string
  /** The comment after it on the same line. */
  readonly behind: string
}

/** null if the setting has several lines. */
function settingOf({ key, value }: Entry['pair'], name: string, text: string): Setting | null {
  const [start, keyEnd] = key.range ?? [0, 0]
  const end = value?.range?.[1]
  if (!isScalar(value) || end === undefined || text.slice(start, end).includes('\n')) return null
  const written = quotedAs(name, key) + text.slice(keyEnd, end)
  if (!startsLine(text, start)) return { above: [], text: written, behind: '' }
  const above = linesAbove(text, start)
  const comments = text.slice(above, lineStart(text, start)).split('\n').slice(0, -1)
  const behind = /^[ \t]*(#.*)?/.exec(text.slice(end, lineEnd(text, end)).replace(/^[ \t]*,/, ''))?.[1] ?? ''
  return { above: comments.map((line) => line.trim()), text: written, behind: behind.trimEnd() }
}

/** Removes settings from their section; null if the layout is not supported. */
function removed(map: YAMLMap, moving: readonly Moving[], text: string): Edit[] | null {
  const going = new Set<unknown>(moving.map(({ entry }) => entry.pair))
  const areLines = moving.every(({ entry: { pair } }) =>
    isWholeLine(text, startOf(pair.key), endOf(pair.key, pair.value)),
  )
  if (areLines) {
    const edits = moving.map(({ entry: { pair } }) => {
      const end = nextLine(text, lineEnd(text, endOf(pair.key, pair.value)))
      return { start: linesAbove(text, startOf(pair.key)), end, text: '' }
    })
    const last = map.items.findLast((item) => !going.has(item))
    const end = last ? endOf(last.key, last.value) : 0
    const comma = text.indexOf(',', end)
    // JSON allows no comma after the last item.
    const isLast = map.flow && last && last !== map.items.at(-1) && text.slice(end, comma).trim() === ''
    return isLast ? [...edits, { start: comma, end: comma + 1, text: '' }] : edits
  }
  if (!map.flow || text.slice(...rangeOf(map)).includes('#')) return null
  // Removes from the end of the previous setting that stays. If none stays before it, removes up to the next setting.
  const edits: Edit[] = []
  let stays = 0
  for (const [at, { key, value }] of map.items.entries()) {
    if (!going.has(map.items[at])) {
      stays = endOf(key, value)
      continue
    }
    const next = map.items[at + 1]
    const start = stays > 0 ? stays : startOf(key)
    const end = stays > 0 || !next ? endOf(key, value) : startOf(next.key)
    const open = edits.at(-1)
    if (open && open.start === start) edits.pop()
    edits.push({ start, end, text: '' })
  }
  return edits
}

const rangeOf = (node: Node): [number, number] => [node.range?.[0] ?? 0, node.range?.[1] ?? 0]
const startOf = (key: unknown): number => (isScalar(key) ? (key.range?.[0] ?? 0) : 0)
const endOf = (key: unknown, value: unknown): number =>
  ((value as Node | null)?.range ?? (key as Node).range)?.[1] ?? 0

/** Adds settings at the start of a section. */
function addedTo(
  { key }: Section,
  map: YAMLMap,
  settings: readonly Setting[],
  text: string,
): readonly Edit[] | null {
  const start = startOf(map.items[0]?.key)
  if (startsLine(text, start)) {
    const line = linesAbove(text, start)
    const lines = linesOf(settings, indentOf(text, start), map.flow ? ',' : '', true)
    return [{ start: line, end: line, text: joined(lines, text) }]
  }
  if (!map.flow) return null
  const added = { start, end: start, text: settings.map((one) => `${one.text}, `).join('') }
  const comments = commentsOf(settings)
  if (comments.length === 0) return [added]
  const [at] = key.range ?? [0]
  if (!startsLine(text, at)) return null
  const line = lineStart(text, at)
  const indent = indentOf(text, at)
  return [
    {
      start: line,
      end: line,
      text: joined(
        comments.map((one) => indent + one),
        text,
      ),
    },
    added,
  ]
}

/** Adds a section with settings after another section. */
function addedBehind(
  root: YAMLMap,
  old: Section,
  name: string,
  settings: readonly Setting[],
  text: string,
): readonly Edit[] | null {
  const [start, keyEnd] = old.key.range ?? [0, 0]
  const end = endOf(old.key, old.value)
  const key = quotedAs(name, old.key)
  const indent = startsLine(text, start) ? indentOf(text, start) : null
  const comments = commentsOf(settings)
  const inner = `{ ${settings.map((one) => one.text).join(', ')} }`
  const isFlow = isMap(old.value) && old.value.flow
  const isLong = isFlow && text.slice(start, end).includes('\n')
  const itemStart = isMap(old.value) ? startOf(old.value.items[0]?.key) : 0
  const deeper = isLong && startsLine(text, itemStart) ? indentOf(text, itemStart) : `${indent ?? ''}  `
  if (root.flow) {
    if (comments.length > 0 && !(isLong && indent !== null)) return null
    const gap = indent === null ? ' ' : breakOf(text) + indent
    const colon = /^\s*:\s/.test(text.slice(keyEnd, keyEnd + 99)) ? ': ' : ':'
    const lines = linesOf(settings, deeper, ',', false)
    const value = isLong && indent !== null ? `{${breakOf(text)}${joined(lines, text)}${indent}}` : inner
    return [{ start: end, end, text: `,${gap}${key}${colon}${value}` }]
  }
  if (indent === null) return null
  const last = lineEnd(text, isFlow ? end : Math.max(end - 1, start))
  const at = nextLine(text, last)
  const lines = isFlow
    ? [...comments, `${key}: ${inner}`].map((line) => indent + line)
    : [`${indent}${key}:`, ...linesOf(settings, deeper, '', false)]
  return [{ start: at, end: at, text: (text[at - 1] === '\n' ? '' : breakOf(text)) + joined(lines, text) }]
}

const commentsOf = (settings: readonly Setting[]): readonly string[] =>
  settings.flatMap(({ above, behind }) => [...above, ...(behind === '' ? [] : [behind])])

const indentOf = (text: string, at: number): string => text.slice(lineStart(text, at), at)

/** Settings as lines, with `separator` between them and, if `isFollowed`, after the last one. */
const linesOf = (
  settings: readonly Setting[],
  indent: string,
  separator: string,
  isFollowed: boolean,
): readonly string[] =>
  settings.flatMap(({ above, text, behind }, at) => {
    const comma = isFollowed || at < settings.length - 1 ? separator : ''
    return [...above, `${text}${comma}${behind && ` ${behind}`}`].map((line) => indent + line)
  })
