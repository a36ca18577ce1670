import { isMap, isScalar, type Node, Pair, Scalar, YAMLMap } from 'yaml'
import { type Edit, quotedAs, renamedKey } from './config-edit.ts'
import type { ConfigNodes, Entry } from './config-nodes.ts'
import { lastPart, type Renaming, sectionOf } from './renamed-settings.ts'

/** A setting that goes into another section. */
interface Moving {
  readonly renaming: Renaming
  readonly entry: Entry
}

type Section = Pair<Scalar, Node | null>

/**
 * The edits that take settings of a top section into another one, made to the nodes too; or why there are none. The
 * section is renamed where nothing else is in it; the other one is made behind it where there is none.
 */
export function moveSettings(
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

/** A setting as it is written, with its comments; null where it is more than one line. */
interface Setting {
  /** Lines above it that speak of it. */
  readonly above: readonly string[]
  readonly text: string
  /** What stands behind it in its line. */
  readonly behind: string
}

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

/** Takes settings out of their section; null where that is not done here. */
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
    // JSON takes no comma behind the last one.
    const isLast = map.flow && last && last !== map.items.at(-1) && text.slice(end, comma).trim() === ''
    return isLast ? [...edits, { start: comma, end: comma + 1, text: '' }] : edits
  }
  if (!map.flow || text.slice(...rangeOf(map)).includes('#')) return null
  // From the end of what stays before it to its own end; where nothing stays before it, up to what comes next.
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

/** Puts settings before those of a section. */
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

/** Makes a section with settings behind another one. */
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

/** Settings as lines; `separator` between them, and behind the last one where more follows. */
const linesOf = (
  settings: readonly Setting[],
  indent: string,
  separator: string,
  goesOn: boolean,
): readonly string[] =>
  settings.flatMap(({ above, text, behind }, at) => {
    const comma = goesOn || at < settings.length - 1 ? separator : ''
    return [...above, `${text}${comma}${behind && ` ${behind}`}`].map((line) => indent + line)
  })

const breakOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')
const joined = (lines: readonly string[], text: string): string =>
  lines.map((line) => line + breakOf(text)).join('')
const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1
const startsLine = (text: string, at: number): boolean => text.slice(lineStart(text, at), at).trim() === ''

/** Whether nothing else stands in a setting's line, but for a comma and a comment. */
const isWholeLine = (text: string, start: number, end: number): boolean =>
  startsLine(text, start) && /^[ \t]*,?[ \t]*(?:#.*)?$/.test(text.slice(end, lineEnd(text, end)))

/** Without its break. */
function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  if (end === -1) return text.length
  return text[end - 1] === '\r' && end > at ? end - 1 : end
}

function nextLine(text: string, end: number): number {
  const next = text.indexOf('\n', end)
  return next === -1 ? text.length : next + 1
}

/** Where the comment lines right above a line begin; the line itself where there are none. */
function linesAbove(text: string, at: number): number {
  let start = lineStart(text, at)
  while (start > 0) {
    const above = lineStart(text, start - 1)
    if (!text.slice(above, start).trim().startsWith('#')) break
    start = above
  }
  return start
}
