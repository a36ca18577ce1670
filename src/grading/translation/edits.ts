/** How many words of one sentence must be inserted, deleted, replaced or moved to make another: Tercom's edit rate. */

/** Bounds of Tercom, which are part of its figures. */
const [longestShift, farthestShift, beam, mostCandidates] = [10, 50, 25, 1000]

const [same, replaced, inserted, deleted] = [1, 2, 3, 4]
const unreached = 1_000_000_000

/** The table of distances of a sentence's beginnings to the reference's: costs and the last edit, one row a word. */
interface Table {
  readonly costs: Int32Array
  readonly edits: Uint8Array
}

/**
 * Edits of `given` that make it `wanted`, each move of a run of words counted as one. Words are numbers. Takes up to 1,000 times
 * the length of `given`: bound it.
 */
export function translationEdits(given: readonly number[], wanted: readonly number[]): number {
  if (wanted.length === 0) return given.length
  let words = given
  let shifts = 0
  let candidates = 0
  const base = tableFor(given, wanted)
  fill(base, words, wanted, 1)
  for (;;) {
    const found = bestShift(base, words, wanted, candidates)
    candidates = found.candidates
    if (candidates >= mostCandidates || found.gain <= 0) break
    shifts++
    words = found.words
    fill(base, words, wanted, 1)
  }
  return shifts + costOf(base, words, wanted)
}

function tableFor({ length: rows }: readonly number[], { length: columns }: readonly number[]): Table {
  const table = {
    costs: new Int32Array((rows + 1) * (columns + 1)),
    edits: new Uint8Array((rows + 1) * (columns + 1)),
  }
  for (let at = 0; at <= columns; at++) {
    table.costs[at] = at
    table.edits[at] = inserted
  }
  return table
}

const costOf = ({ costs }: Table, given: readonly number[], wanted: readonly number[]): number =>
  costs[(given.length + 1) * (wanted.length + 1) - 1] ?? 0

/** Computes the rows from `from` on, within a beam around the diagonal. The last row is computed to its end. */
function fill(
  { costs, edits }: Table,
  given: readonly number[],
  wanted: readonly number[],
  from: number,
): void {
  const width = wanted.length + 1
  const ratio = given.length > 0 ? wanted.length / given.length : 1
  const reach = beam < ratio / 2 ? Math.ceil(ratio / 2 + beam) : beam
  for (let row = from; row <= given.length; row++) {
    const [start, above] = [row * width, (row - 1) * width]
    costs.fill(unreached, start, start + width)
    const diagonal = Math.floor(row * ratio)
    const end = row === given.length ? width : Math.min(width, diagonal + reach)
    const word = given[row - 1]
    for (let column = Math.max(0, diagonal - reach); column < end; column++) {
      if (column === 0) {
        costs[start] = (costs[above] ?? 0) + 1
        edits[start] = deleted
        continue
      }
      const isSame = word === wanted[column - 1]
      let least = unreached
      let edit = 0
      const kept = (costs[above + column - 1] ?? 0) + (isSame ? 0 : 1)
      if (kept < least) [least, edit] = [kept, isSame ? same : replaced]
      const less = (costs[above + column] ?? 0) + 1
      if (less < least) [least, edit] = [less, deleted]
      const more = (costs[start + column - 1] ?? 0) + 1
      if (more < least) [least, edit] = [more, inserted]
      costs[start + column] = least
      edits[start + column] = edit
    }
  }
}

/** Where each reference word stands in the sentence, and running counts of words that are wrong on either side. */
interface Alignment {
  readonly places: Int32Array
  readonly givenErrors: Int32Array
  readonly wantedErrors: Int32Array
}

function alignment({ edits }: Table, given: readonly number[], wanted: readonly number[]): Alignment {
  const [places, isGivenError, isWantedError] = [
    new Int32Array(wanted.length),
    new Uint8Array(given.length),
    new Uint8Array(wanted.length),
  ]
  let [row, column] = [given.length, wanted.length]
  while (row > 0 || column > 0) {
    const edit = edits[row * (wanted.length + 1) + column]
    if (edit === deleted) {
      row--
      isGivenError[row] = 1
      continue
    }
    column--
    if (edit === inserted) {
      places[column] = row - 1
      isWantedError[column] = 1
      continue
    }
    row--
    places[column] = row
    isGivenError[row] = isWantedError[column] = edit === same ? 0 : 1
  }
  return { places, givenErrors: summed(isGivenError), wantedErrors: summed(isWantedError) }
}

/** At each place, the sum of all before it. */
function summed(values: Uint8Array): Int32Array {
  const sums = new Int32Array(values.length + 1)
  for (let at = 0; at < values.length; at++) sums[at + 1] = (sums[at] ?? 0) + (values[at] ?? 0)
  return sums
}

interface Shift {
  readonly gain: number
  readonly length: number
  readonly start: number
  readonly target: number
}

/** The move that saves most; of equal ones the longest, then the one from, then the one to, the earliest place. */
function bestShift(base: Table, given: readonly number[], wanted: readonly number[], tried: number) {
  const before = costOf(base, given, wanted)
  const aligned = alignment(base, given, wanted)
  const trial = tableFor(given, wanted)
  let best: Shift | null = null
  let candidates = tried
  // Rows of `trial` up to this one are those of `base`.
  let copied = 0
  const width = wanted.length + 1
  for (const [start, from, length] of equalRuns(given, wanted)) {
    const anyWrong = (sums: Int32Array, at: number): boolean => sums[at + length] !== sums[at]
    if (!anyWrong(aligned.givenErrors, start) || !anyWrong(aligned.wantedErrors, from)) continue
    const place = aligned.places[from] ?? 0
    if (start <= place && place < start + length) continue
    let last = -1
    for (let offset = -1; offset < length; offset++) {
      const target = from + offset === -1 ? 0 : (aligned.places[from + offset] ?? 0) + 1
      if (target === last) continue
      last = target
      const first = Math.min(start, target)
      if (first > copied) {
        trial.costs.set(base.costs.subarray(copied * width, (first + 1) * width), copied * width)
        trial.edits.set(base.edits.subarray(copied * width, (first + 1) * width), copied * width)
      }
      const shifted = moved(given, start, length, target)
      fill(trial, shifted, wanted, first + 1)
      copied = first
      candidates++
      const shift = { gain: before - costOf(trial, shifted, wanted), length, start, target }
      if (best === null || isBetter(shift, best)) best = shift
    }
    if (candidates >= mostCandidates) break
  }
  if (best === null) return { gain: 0, words: given, candidates }
  return { gain: best.gain, words: moved(given, best.start, best.length, best.target), candidates }
}

const isBetter = (a: Shift, b: Shift): boolean =>
  a.gain !== b.gain
    ? a.gain > b.gain
    : a.length !== b.length
      ? a.length > b.length
      : a.start !== b.start
        ? a.start < b.start
        : a.target < b.target

/** Runs that stand in both sentences, not too far from each other: where they start, and how long they are. */
function* equalRuns(
  given: readonly number[],
  wanted: readonly number[],
): Generator<readonly [start: number, from: number, length: number]> {
  for (let start = 0; start < given.length; start++) {
    const end = Math.min(wanted.length - 1, start + farthestShift)
    for (let from = Math.max(0, start - farthestShift); from <= end; from++)
      for (let length = 0; length < longestShift && given[start + length] === wanted[from + length]; ) {
        length++
        yield [start, from, length]
        if (start + length === given.length || from + length === wanted.length) break
      }
  }
}

function moved(words: readonly number[], start: number, length: number, target: number): readonly number[] {
  const run = words.slice(start, start + length)
  if (target < start)
    return [...words.slice(0, target), ...run, ...words.slice(target, start), ...words.slice(start + length)]
  // A place within the run itself counts from its end.
  const behind = target > start + length ? target : target + length
  return [...words.slice(0, start), ...words.slice(start + length, behind), ...run, ...words.slice(behind)]
}
