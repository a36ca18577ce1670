/** A literal that JSON or a double cannot carry, at its place in the parsed value. */
export interface NonJsonLiteral {
  /** Ends early where names on the way are very long. */
  readonly path: Path
  /** `NaN`, `Infinity`, `-Infinity`, or the first digits of an integer. */
  readonly literal: string
}

/** Where a value stands, from the root. */
export type Path = readonly (string | number)[]

/** What one JSON text may hold. */
export interface JsonLimits {
  /** Names of members of the root whose lists hold rows: each element has `maxValues` of its own. */
  readonly rows: readonly string[]
  /** Values in one row, and in everything that is not a row; see `valueEighths`. */
  readonly maxValues: number
  /** Rows in one list. */
  readonly maxRows: number
  /** True where a long list of numbers that is in no row counts for nothing: it is read in parts. */
  readonly hasLongLists: boolean
}

/** No limits: for texts that are no request's. */
export const noJsonLimits: JsonLimits = {
  rows: [],
  maxValues: Number.POSITIVE_INFINITY,
  maxRows: Number.POSITIVE_INFINITY,
  hasLongLists: false,
}

/** Legal JSON that holds more than its reader allows. The message says what, and never quotes the text. */
export class JsonLimitError extends SyntaxError {
  override readonly name = 'JsonLimitError'
  readonly kind: 'values' | 'depth' | 'rows'

  constructor(kind: JsonLimitError['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/** A row that holds more than a row may: its bytes were counted, not parsed. */
export class UnreadRow {
  readonly problem: string

  constructor(problem: string) {
    this.problem = problem
  }
}

/** What a scan finds, in the order of the bytes. `isInList`: within an element of the list that is open. */
export interface ScanEvents {
  /** The bytes of a literal that JSON cannot carry; `null` stands for it. */
  literal(from: number, to: number, isInList: boolean): void
  /** The first such literal of its kind in a row, or in a member of the root. */
  oddity(oddity: NonJsonLiteral): void
  /** The elements of this list come in parts; `from` is behind its bracket. */
  listOpened(from: number, path: Path): void
  /** So many elements; one where the list is empty. */
  part(from: number, to: number, count: number): void
  /** The place of the bracket that ends the list. */
  listClosed(at: number): void
  /** A text that is long enough to be read in pieces; the bytes between its quotes. */
  longText(from: number, to: number, path: Path, isInList: boolean): void
  /** An element of a list of rows that holds more than it may. */
  refused(from: number, to: number, index: number, problem: string): void
}

/** Containers within each other; the outermost is 1. */
export const depthLimit = 512

/** What a text, a list, an object and a name count of a value, in eighths. */
export const valueEighths = 8
/** What a number, true, false and null count: they take an eighth of the time and of the memory. */
export const numberEighths = 1

/** Heap that an eighth takes, bytes: rather too much. Measured: a list 5, a text 4, an object of its own shape 10. */
export const heapBytesPerEighth = 12

/** A name may be as long as the body, and a path would repeat it for each value below. */
const longestPath = 4096
const list = 0x5b

/** The containers around the place where a scan stands, by depth from 1 on; plain arrays, for they change with each byte. */
export class JsonNesting {
  /** The byte that opened it. */
  readonly kinds = new Uint8Array(depthLimit + 1)
  /** The place behind that byte. */
  readonly opened = new Int32Array(depthLimit + 1)
  /** Its commas so far. */
  readonly counts = new Int32Array(depthLimit + 1)
  /** Both ends of its latest name, with the quotes. */
  readonly names = new Int32Array(2 * depthLimit + 2)

  /** The path of what is read in the container of this depth, without what comes after long names. */
  path(bytes: Buffer, depth: number): Path {
    const path: (string | number)[] = []
    let length = 0
    for (let level = 1; level <= depth; level++) {
      if (this.kinds[level] === list) path.push(this.counts[level] as number)
      else {
        const [from, to] = [this.names[2 * level] as number, this.names[2 * level + 1] as number]
        length += to - from
        if (length > longestPath) break
        path.push(JSON.parse(bytes.toString('utf8', from, to) || '""') as string)
      }
    }
    return path
  }
}

/** Far below any count. */
const unknown = Number.NEGATIVE_INFINITY

/** How much a value counts; negative: a number in it may be a rounded one, or it is very deep. */
export function eighthsOf(value: unknown, depth = 0): number {
  if (typeof value === 'number') return Math.abs(value) < 2 ** 53 ? numberEighths : unknown
  if (value === null || typeof value === 'boolean') return numberEighths
  if (typeof value !== 'object') return valueEighths
  if (depth === depthLimit) return unknown
  let eighths = valueEighths
  if (Array.isArray(value)) {
    for (const item of value) eighths += eighthsOf(item, depth + 1)
    return eighths
  }
  for (const key in value)
    eighths += valueEighths + eighthsOf((value as Record<string, unknown>)[key], depth + 1)
  return eighths
}
