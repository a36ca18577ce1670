import type { ConfigPath } from './config-text.ts'

/** A setting that has another name, or whose values have. `*` in a path is any name or place in a list. */
export interface Renaming {
  readonly from: string
  /** Beside the old one, or in another section. */
  readonly to: string
  /** New values by the text of the old ones; absent: a value stays as it is. */
  readonly values?: Readonly<Record<string, string>>
}

const modes = { sound: 'strict', reference: 'published' }

/** In the order in which `check --fix` applies them; what goes into another section comes last. */
export const renamings: readonly Renaming[] = [
  { from: 'models.*.reports_as', to: 'models.*.served_model_aliases' },
  { from: 'models.*.hedge.after', to: 'models.*.hedge.quantile' },
  { from: 'models.*.max_queue_s', to: 'models.*.max_queue_wait_s' },
  { from: 'models.*.wait_for_instance_s', to: 'models.*.wait_for_instance' },
  { from: 'wires', to: 'trainers' },
  { from: 'trainers.*.truths', to: 'trainers.*.ground_truth_file' },
  { from: 'arithmetic', to: 'arithmetic', values: modes },
  { from: 'steps.*.options.mode', to: 'steps.*.options.mode', values: modes },
  { from: 'steps.*.pairs.scheme', to: 'steps.*.pairs.scheme', values: { circular: 'ring' } },
  { from: 'steps.*.soft', to: 'steps.*.verdict', values: { true: 'expected', false: 'sampled' } },
  { from: 'limits.leave_s', to: 'shutdown.pre_stop_s' },
  { from: 'limits.drain_s', to: 'shutdown.grace_s' },
]

/** The parts of a path of the table. */
export const partsOf = (path: string): readonly string[] => path.split('.')

/** The last part of a path of the table. */
export const lastPart = (path: string): string => path.slice(path.lastIndexOf('.') + 1)

/** Whether the setting leaves its section. */
export const isMoved = ({ from, to }: Renaming): boolean => sectionOf(from) !== sectionOf(to)

/** A path of the table without its last part; '' at the top. */
export const sectionOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('.'), 0))

/** What an old key at a path is called now, `known` being the keys that may stand there; null: it has no other name. */
export function newNameOf(
  path: ConfigPath,
  value: unknown,
  known: readonly string[],
  file: string | null,
): string | null {
  const found = renamings.find(
    (one) =>
      one.from !== one.to &&
      matchesPath(one.from, path) &&
      (isMoved(one) || known.includes(lastPart(one.to))),
  )
  return found ? renamedMessage(found, value, file) : null
}

/** What an old value at a path is called now; null: it has no other name. */
export function newValueOf(path: ConfigPath, value: unknown, file: string | null): string | null {
  const found = renamings.find(({ from, to, values }) => from === to && matchesPath(from, path) && values)
  return found && newValue(found, value) !== null ? renamedMessage(found, value, file) : null
}

/** What a value is called now; null: it has no other name. */
export function newValue({ values }: Renaming, value: unknown): string | null {
  const text = String(value)
  return values && Object.hasOwn(values, text) ? (values[text] ?? null) : null
}

/** What a value of a function's option is called now; null: it has no other name. */
export function newOptionValue(key: string, value: unknown): string | null {
  const found = renamings.find(({ from }) => from === `${optionsAt}.${key}`)
  return found ? newValue(found, value) : null
}

/** Where the options of functions are. */
export const optionsAt = 'steps.*.options'

/** Whether a path of the table is this path. */
function matchesPath(pattern: string, path: ConfigPath): boolean {
  const parts = partsOf(pattern)
  return parts.length === path.length && parts.every((part, at) => part === '*' || part === path[at])
}

function renamedMessage(renaming: Renaming, value: unknown, file: string | null): string {
  const [from, to] = namesOf(renaming, value)
  const help = file === null ? '' : `; \`reward-gateway check --fix ${file}\` rewrites it`
  return `\`${from}\` is called \`${to}\` now${help}`
}

/** Both names as they are told, with the values where these have other names too. */
export function namesOf(renaming: Renaming, value: unknown): readonly [string, string] {
  const by = newValue(renaming, value)
  const [from, to] = [nameIn(renaming.from), nameIn(renaming.to)]
  return by === null ? [from, to] : [`${from}: ${value}`, `${to}: ${by}`]
}

/** `hedge.after` for `models.*.hedge.after`. */
const nameIn = (path: string): string => path.slice(path.lastIndexOf('*') + 1).replace(/^\./, '')
