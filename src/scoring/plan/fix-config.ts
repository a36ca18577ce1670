import { isDeepStrictEqual } from 'node:util'
import { isScalar, LineCounter, Scalar } from 'yaml'
import { type Edit, edited, quotedAs, renamedKey } from './config-edit.ts'
import { ConfigNodes, type Entry } from './config-nodes.ts'
import { moveSettings } from './move-setting.ts'
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
} from './renamed-settings.ts'

/** What became of one old setting. */
export interface Fix {
  readonly line: number
  readonly message: string
}

/** A config's text with the new names. */
export interface FixedConfig {
  readonly text: string
  readonly fixes: readonly Fix[]
  /** Old settings that only a person can rename, and why. */
  readonly left: readonly Fix[]
}

/** Whether a function takes a value of an option; false for functions that are not known. */
export type TakesOption = (name: string, key: string, value: string) => boolean

/** One of them, and where it stands. */
interface OldSetting {
  readonly renaming: Renaming
  readonly entry: Entry
  /** The new value; null: the value stays. */
  readonly by: string | null
  readonly line: number
  /** As they are told. */
  readonly names: readonly [string, string]
}

/**
 * Renames old settings in the text of a config; every byte beside them stays. A text with mistakes of syntax stays as it
 * is, as does what cannot be renamed without a change of what it says.
 */
export function fixConfig(text: string, takes: TakesOption): FixedConfig {
  const together = [
    ...renamings.filter((one) => !isMoved(one)).map((one) => [one]),
    renamings.filter((one) => isMoved(one)),
  ]
  let fixed: FixedConfig = { text, fixes: [], left: [] }
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
  // The nodes were changed along with the text: both must say the same.
  const isSame = edits.length === 0 || isDeepStrictEqual(ConfigNodes.of(after)?.data(), nodes.data())
  const fixes: Fix[] = []
  const left: Fix[] = []
  for (const [at, { line, names }] of found.entries()) {
    const [from, to] = names
    const result = isSame ? (results[at] ?? []) : 'it is written in an unusual way'
    if (typeof result === 'string')
      left.push({ line, message: `\`${from}\` is called \`${to}\` now, but ${result}: rename it by hand` })
    else fixes.push({ line, message: `\`${from}\` is \`${to}\` now` })
  }
  return {
    text: isSame ? after : text,
    fixes: [...before.fixes, ...fixes],
    left: [...before.left, ...left],
  }
}

/** Old names, and old values where the setting keeps its name. */
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

function lineCounterOf(text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
  return lines
}

/** The options of those steps whose function takes the new values. */
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

/** The edits of each setting that stays where it is, made to the nodes too; or why there are none. */
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
      if (by === null || !range || !isScalar(scalar)) return 'its value is none that has a new name'
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

/** The names of the functions whose options may hold old values. */
export function functionsOf(text: string): readonly string[] {
  const entries = ConfigNodes.of(text)?.entriesAt(partsOf('steps.*.function')) ?? []
  return entries.flatMap(({ pair: { value } }) => (isScalar(value) ? [String(value.value)] : []))
}
