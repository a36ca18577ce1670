import type { ConfigPath } from './config-text.ts'

/** A setting that was renamed, or whose values were. `*` in a path matches any key or list index. */
export interface Renaming {
  readonly from: string
  /** In the same section, or in another one. */
  readonly to: string
  /** Old value, as text -> new value; absent: values stay as they are. */
  readonly values?: Readonly<Record<string, string>>
}

const modes = { sound: 'strict', reference: 'published' }

/** In the order in which `check --fix` applies them. Settings that move to another section come last. */
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

/** The parts of a path in `renamings`. */
export const partsOf = (path: string): readonly string[] => path.split('.')

/** The last part of a path in `renamings`. */
export const lastPart = (path: string): string => path.slice(path.lastIndexOf('.') + 1)

/** Whether the setting moves to another section. */
export const isMoved = ({ from, to }: Renaming): boolean => sectionOf(from) !== sectionOf(to)

/** A path in `renamings` without its last part; '' at the top. */
export const sectionOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('.'), 0))

/** A message with the new name of an old key, if that is among the `known` keys there; null: it was not renamed. */
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

/** A message with the new name of an old value at a path; null: it was not renamed. */
export function newValueOf(path: ConfigPath, value: unknown, file: string | null): string | null {
  const found = renamings.find(({ from, to, values }) => from === to && matchesPath(from, path) && values)
  return found && newValue(found, value) !== null ? renamedMessage(found, value, file) : null
}

/** The new name of a value; null: it was not renamed. */
export function newValue({ values }: Renaming, value: unknown): string | null {
  const text = String(value)
  return values && Object.hasOwn(values, text) ? (values[text] ?? null) : null
}

/** The new name of a value of a function's option; null: it was not renamed. */
export function newOptionValue(key: string, value: unknown): string | null {
  const found = renamings.find(({ from }) => from === `${optionsAt}.${key}`)
  return found ? newValue(found, value) : null
}

/** The path of functions' options. */
export const optionsAt = 'steps.*.options'

/** Whether a path in `renamings` matches a path. */
function matchesPath(pattern: string, path: ConfigPath): boolean {
  const parts = partsOf(pattern)
  return parts.length === path.length && parts.every((part, at) => part === '*' || part === path[at])
}

function renamedMessage(renaming: Renaming, value: unknown, file: string | null): string {
  const [from, to] = namesOf(renaming, value)
  const help = file === null ? '' : `; \`reward-gateway check --fix ${file}\` rewrites it`
  return `\`${from}\` is called \`${to}\` now${help}`
}

/** The old and the new name for messages, with the values if these were renamed too. */
export function namesOf(renaming: Renaming, value: unknown): readonly [string, string] {
  const by = newValue(renaming, value)
  const [from, to] = [nameIn(renaming.from), nameIn(renaming.to)]
  return by === null ? [from, to] : [`${from}: ${value}`, `${to}: ${by}`]
}

/** `hedge.after` for `models.*.hedge.after`. */
const nameIn = (path: string): string => path.slice(path.lastIndexOf('*') + 1).replace(/^\./, '')
