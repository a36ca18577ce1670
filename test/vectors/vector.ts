/** What tells whether the implementation answers as published code did: one adapter a folder of vector files. */
export type Mode = 'reference' | 'sound'

/** One line of a vector file, as it stands. */
export interface Vector {
  readonly id: string
  /** In files of mixed cases: the file whose form this case has. */
  readonly function?: string
  /** Absent where the fields of the line are the input. */
  readonly input: Readonly<Record<string, unknown>>
  readonly expected?: unknown
  readonly error?: string
  readonly reference_raises?: unknown
  readonly reference_score?: unknown
  readonly sound_score?: unknown
  readonly [field: string]: unknown
}

/** Our answer to a vector; throwing is an answer too. */
export type Answer = (vector: Vector, mode: Mode) => unknown

export interface Adapter {
  /** By file name without its ending. A file that is not named here is dispatched by each vector's `function`. */
  readonly answers: Readonly<Record<string, Answer>>
  /** What the answer must be; `raises` for an error. Absent: as `wanted` has it. */
  readonly wanted?: (vector: Vector, mode: Mode, file: string) => unknown
  /** Absolute and relative difference of numbers that is none. */
  readonly tolerance?: number | ((file: string) => number)
}

/** The answer that must be thrown for. */
export const raises = Symbol('raises')

/** The usual form: `expected` or `error`; where both modes are known, `reference_score` or `sound_score`. */
export function wanted(vector: Vector, mode: Mode): unknown {
  if (mode === 'sound') return vector.sound_score
  if (vector.reference_raises === true || 'error' in vector) return raises
  return 'reference_score' in vector ? vector.reference_score : vector.expected
}

/** Files whose cases name both modes' results. */
export const bothModes: ReadonlySet<string> = new Set(['hacks', 'hardened'])
