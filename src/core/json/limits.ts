/** A literal that JSON or a double cannot represent, with its place in the parsed value. */
export interface NonJsonLiteral {
  /** Cut short after very long names. */
  readonly path: Path
  /** `NaN`, `Infinity`, `-Infinity`, or the first digits of an integer. */
  readonly literal: string
}

/** A value's place, from the root. */
export type Path = readonly (string | number)[]

/** Limits for one JSON text. */
export interface JsonLimits {
  /** Members of the root whose lists hold rows. Each row has its own budget of `maxValues`. */
  readonly rows: readonly string[]
  /** Values per row, and in everything outside of rows. See `valueEighths`. */
  readonly maxValues: number
  /** Rows per list. */
  readonly maxRows: number
  /** Whether a long list of numbers outside of rows is free, because it is read in parts. */
  readonly hasLongLists: boolean
}

/** No limits, for texts that do not come from requests. */
export const noJsonLimits: JsonLimits = {
  rows: [],
  maxValues: Number.POSITIVE_INFINITY,
  maxRows: Number.POSITIVE_INFINITY,
  hasLongLists: false,
}

/** Valid JSON that exceeds its reader's limits. The message never quotes the text. */
export class JsonLimitError extends SyntaxError {
  override readonly name = 'JsonLimitError'
  readonly kind: 'values' | 'depth' | 'rows'

  constructor(kind: JsonLimitError['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/** Stands for a row that exceeds the limits. Its bytes were counted, not parsed. */
export class UnreadRow {
  readonly problem: string

  constructor(problem: string) {
    this.problem = problem
  }
}

/** The callbacks of a scan, in byte order. `isInList`: inside an element of the open list. */
export interface ScanEvents {
  /** The bytes of a literal that JSON cannot represent. It is replaced by `null`. */
  literal(from: number, to: number, isInList: boolean): void
  /** The first such literal of its kind in a row, or in a member of the root. */
  firstLiteral(literal: NonJsonLiteral): void
  /** A list that is read in parts starts. `from` is the offset after its bracket. */
  listOpened(from: number, path: Path): void
  /** This many elements of the list. An empty list counts as one. */
  part(from: number, to: number, count: number): void
  /** The offset of the list's closing bracket. */
  listClosed(at: number): void
  /** A string that is long enough to be read in pieces: the bytes between its quotes. */
  longText(from: number, to: number, path: Path, isInList: boolean): void
  /** An element of a list of rows exceeds the limits. */
  refused(from: number, to: number, index: number, problem: string): void
}

/** Maximum nesting depth. The outermost container has depth 1. */
export const depthLimit = 512

/** The cost of a string, list, object or name, in eighths of a value. */
export const valueEighths = 8
/** The cost of a number, true, false or null: they take an eighth of the time and memory. */
export const numberEighths = 1

/**
 * Heap bytes per eighth, rounded up. Measured: a list takes 5, a string 4, an object with its own shape 10.
 */
export const heapBytesPerEighth = 12

/** A name can be as long as the body, and a path would repeat it for each value below. */
const longestPath = 4096
const list = 0x5b

/**
 * The open containers at a scan's position, by depth from 1. Typed arrays, because they change with every
 * byte.
 */
export class JsonNesting {
  /** The opening byte. */
  readonly kinds = new Uint8Array(depthLimit + 1)
  /** The offset after the opening byte. */
  readonly opened = new Int32Array(depthLimit + 1)
  /** Number of commas so far. */
  readonly counts = new Int32Array(depthLimit + 1)
  /** Start and end of the latest name, including its quotes. */
  readonly names = new Int32Array(2 * depthLimit + 2)

  /** The path of the container's current value. It stops after long names. */
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

/** Outweighs any possible count. */
const unknown = Number.NEGATIVE_INFINITY

/** The cost of a value in eighths. Negative: a number in it may have been rounded, or it is very deep. */
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
