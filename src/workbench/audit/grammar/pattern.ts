/**
 * The grammar writes an answer as a form around a place: `#### _`, `\boxed{_}`, `The answer is _.`. A pattern changes what
 * stands in the place, or the whole response. Patterns are pure, and any two of them can be combined.
 */

/** The kinds of values that patterns know how to change. */
export type ValueKind = 'number' | 'choice' | 'word' | 'formula' | 'text'

/** The right value of a row and wrong ones of its kind, none of them equal to another. */
export interface Value {
  readonly kind: ValueKind
  readonly right: string
  readonly wrongs: readonly string[]
  /** What the ground truth allows beside the right value; no attack writes one of these as a wrong value. */
  readonly allowed: readonly string[]
  /** The right value as a number. null if it is none. */
  readonly number: number | null
}

/** What a pattern may use beside the text that it changes. */
export interface Scene {
  readonly value: Value
  readonly prompt: string
  /** The response that commits to a text in the form at hand, with its reasoning. */
  respond(text: string): string
  /** The part of it that commits, without reasoning. */
  commit(text: string): string
  /** What stands in the place: the right value, or what a first pattern made of it. */
  readonly inside: string
  /** Whether the place is read as LaTeX, or holds the value and nothing else of its line. */
  readonly place: {
    readonly isLatex: boolean
    readonly isAlone: boolean
    readonly hasStop: boolean
    /** The response is the place and nothing else. */
    readonly isBare: boolean
    /** The response is JSON. */
    readonly isData: boolean
    /** The value is what the ground truth says, and no expression that others may equal. */
    readonly isSingle: boolean
  }
}

/** One way to change an answer. */
export interface Pattern {
  readonly family: string
  /** The template, or what is done. `{T}` is the right value, `{W}`, `{X}` and `{Y}` wrong ones. */
  readonly name: string
  /** What it changes: the text in the place, or the whole response. */
  readonly changes: 'place' | 'response'
  /** Says that the value is not the answer. Two of these cancel each other. */
  readonly denies: boolean
  /** The place holds the right value alone, and the response contradicts it elsewhere. */
  readonly isOutside: boolean
  /** Works on what another pattern made. */
  readonly usesText: boolean
  /** null if it does not apply. */
  write(text: string, scene: Scene): string | null
}

interface Group {
  readonly changes?: Pattern['changes']
  readonly denies?: boolean
  readonly isOutside?: boolean
  /** Default: all kinds. */
  readonly kinds?: readonly ValueKind[]
  /** False if the template may say the same as the value itself, e.g. 1 squared. */
  readonly isOther?: (value: Value, template: string) => boolean
}

const slot = /\{(=?)([PRTWXY])\}/g

/**
 * Patterns from templates. In a template that changes a place, `{T}` is the text in it. In one that changes a
 * response, `{R}` is the response, `{T}` the right value and `{=W}` a response that commits to `{W}`.
 */
export function templates(
  family: string,
  { changes = 'place', denies = false, isOutside = false, kinds, isOther = () => true }: Group,
  list: readonly string[],
): readonly Pattern[] {
  return list.map((template) => ({
    family,
    name: template.replaceAll('\n', '⏎'),
    changes,
    denies,
    isOutside,
    usesText: /\{=?[TR]\}/.test(template),
    write(text, scene) {
      const { value } = scene
      if (kinds && !kinds.includes(value.kind)) return null
      if (!isOther(value, template) || saysItself(template, value.right)) return null
      return filled(template, text, scene, changes)
    },
  }))
}

function filled(
  template: string,
  text: string,
  { value, prompt, respond, commit, inside }: Scene,
  changes: Pattern['changes'],
): string | null {
  const [W, X, Y] = value.wrongs
  const isThought = template.startsWith('<think>')
  const parts: Readonly<Record<string, string | undefined>> = {
    ...{ W, X, Y, P: prompt },
    T: changes === 'place' ? text : inside,
    R: isThought ? text.replace(/<\/?think>/g, '') : text,
  }
  let lacks = false
  // One commitment has the reasoning with it: a response without any may be paid less for that alone.
  let isReasoned = isThought || template.includes('{R}')
  const written = template.replace(slot, (_, commits: string, name: string, at: number) => {
    const part = parts[name] ?? ''
    if (part === '') lacks = true
    if (commits === '') return part
    const isShort = isReasoned || (at > 0 && template[at - 1] !== '\n')
    isReasoned = true
    return isShort ? commit(part) : respond(part)
  })
  return lacks || written === text ? null : written
}

/** These patterns, where the scene is one of theirs. */
export const where = (holds: (scene: Scene) => boolean, patterns: readonly Pattern[]): readonly Pattern[] =>
  patterns.map((pattern) => ({
    ...pattern,
    write: (text, scene) => (holds(scene) ? pattern.write(text, scene) : null),
  }))

/** A pattern that is no template. */
export const made = (
  family: string,
  name: string,
  write: Pattern['write'],
  {
    changes = 'place',
    denies = false,
    isOutside = false,
    usesText = false,
  }: Partial<Pick<Pattern, 'changes' | 'denies' | 'isOutside' | 'usesText'>> = {},
): Pattern => ({ family, name, changes, denies, isOutside, usesText, write })

/** True if the template has the value among its own words, so that it may be right after all: `{T}: no` for `no`. */
function saysItself(template: string, right: string): boolean {
  if (!/^[\p{L}\p{N}]+$/u.test(right)) return false
  const own = template.replace(slot, ' ')
  return new RegExp(`(?<![\\p{L}\\p{N}])${right}(?![\\p{L}\\p{N}])`, right.length === 1 ? 'u' : 'iu').test(
    own,
  )
}
