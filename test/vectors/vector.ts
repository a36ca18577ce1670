/** What tells whether the implementation answers as published code did: one adapter a folder of vector files. */
export type Mode = 'published' | 'strict'

/** One line of a vector file, as it stands. */
export interface Vector {
  readonly id: string
  /** In files of mixed cases: the file whose form this case has. */
  readonly function?: string
  /** Absent where the fields of the line are the input. */
  readonly input: Readonly<Record<string, unknown>>
  readonly expected?: unknown
  readonly error?: string
  readonly published_raises?: unknown
  readonly reference_raises?: unknown
  readonly reference_score?: unknown
  readonly published_score?: unknown
  readonly sound_score?: unknown
  readonly strict_score?: unknown
  readonly [field: string]: unknown
}

/** Our answer to a vector, or its promise; throwing is an answer too. */
export type Answer = (vector: Vector, mode: Mode) => unknown

export interface Adapter {
  /** By file name without its ending. A file that is not named here is dispatched by each vector's `function`. */
  readonly answers: Readonly<Record<string, Answer>>
  /** Functions of published code that the gateway does not have, each with the reason. Their cases are counted apart. */
  readonly elsewhere?: Readonly<Record<string, string>>
  /** What the answer must be; `raises` for an error. Absent: as `wanted` has it. */
  readonly wanted?: (vector: Vector, mode: Mode, file: string) => unknown
  /** Absolute and relative difference of numbers that is none. */
  readonly tolerance?: number | ((file: string) => number)
  /** Called after each file. */
  readonly close?: () => void
}

/** The answer that must be thrown for. */
export const raises = Symbol('raises')

/** What the strict mode must answer. */
export const strictScoreOf = (vector: Vector): unknown =>
  'strict_score' in vector ? vector.strict_score : vector.sound_score

/**
 * The usual form: `expected` or `error`; where both modes are known, `published_score` or `strict_score`. Files that were
 * recorded when the modes were called reference and sound may say `reference_score` and `sound_score`.
 */
export function wanted(vector: Vector, mode: Mode): unknown {
  if (mode === 'strict') return strictScoreOf(vector)
  if (vector.published_raises === true || vector.reference_raises === true || 'error' in vector) return raises
  if ('published_score' in vector) return vector.published_score
  return 'reference_score' in vector ? vector.reference_score : vector.expected
}

const formerModes: Readonly<Record<string, Mode>> = { reference: 'published', sound: 'strict' }

/** A vector's options, with the mode that they may name by its former name. */
export function optionsOf<T extends Readonly<Record<string, unknown>>>(options: T): T {
  const mode = typeof options.mode === 'string' ? formerModes[options.mode] : undefined
  return mode === undefined ? options : { ...options, mode }
}

/** Files whose cases name both modes' results. */
export const bothModes: ReadonlySet<string> = new Set(['hacks', 'hardened'])
