/**
 * Runs many small pieces of work in slices, so that no turn of the event loop takes long. A request may have
 * tens of thousands of rows; handling all of them at once would block every other request.
 */

/** The time budget that all sliced work shares in one turn, in milliseconds. */
const turnMs = 10
/** Pieces between two looks at the clock, unless a single piece may take milliseconds. */
const looksEvery = 8
/** A small request's rows run without a look at the clock. */
const atOnce = 32

interface Work {
  readonly more: () => boolean
  readonly every: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export type MaybePromise<T> = T | Promise<T>

const waiting: Work[] = []
let isDue = false
/** Milliseconds left in this turn for work that starts in it. */
let leftMs = turnMs

/**
 * Calls `more` until it returns false, then calls `then`. Returns null if everything fit into the current
 * slice; otherwise a promise, and later turns do the rest. Errors are thrown, or reject the promise. `every`
 * is the number of pieces between two looks at the clock.
 */
export function inSlices(more: () => boolean, then = nothing, every = looksEvery): Promise<void> | null {
  if (isDoneAtOnce(more, every)) {
    then()
    return null
  }
  return new Promise<void>((resolve, reject) => {
    waiting.push({ more, every, resolve, reject })
    due()
  }).then(then)
}

const nothing = (): void => {}

function isDoneAtOnce(more: () => boolean, every: number): boolean {
  // Most work is small and never looks at the clock.
  for (let pieces = 0; pieces < every; pieces++) if (!more()) return true
  // Many small jobs that each fit into a slice share this one, too.
  if (leftMs <= 0) return false
  const began = performance.now()
  const isLeft = goesOn(more, every, began + leftMs)
  leftMs = isLeft ? 0 : leftMs - (performance.now() - began)
  // Restores the next turn's budget, even if nothing waits for it.
  due()
  return !isLeft
}

function due(): void {
  if (!isDue) setImmediate(runTurn)
  isDue = true
}

/**
 * Runs a generator in slices, pausing at its yields. Returns its value directly if it fits into the current
 * slice. Everything before the first yield runs at once.
 */
export function workInSlices<T>(work: Generator<void, T>): MaybePromise<T> {
  let next: IteratorResult<void, T> | undefined
  const more = (): boolean => {
    next = work.next()
    return !next.done
  }
  const result = (): T => next?.value as T
  const rest = inSlices(more, nothing, 1)
  return rest === null ? result() : rest.then(result)
}

/** Characters per turn for work that cannot be split. */
const turnChars = 256 * 1024
/** Shorter texts are not counted. */
const fewChars = 16 * 1024

const long: { readonly chars: number; readonly begin: () => void }[] = []

/** Waits for a turn to process one long text that cannot be split. null: the text is short, go ahead. */
export function turnFor(chars: number): Promise<void> | null {
  if (chars < fewChars) return null
  return new Promise((begin) => {
    if (long.push({ chars, begin }) === 1) setImmediate(runLong)
  })
}

function runLong(): void {
  let left = turnChars
  let count = 0
  for (const { chars, begin } of long) {
    if (count > 0 && chars > left) break
    left -= chars
    count += 1
    begin()
  }
  long.splice(0, count)
  if (long.length > 0) setImmediate(runLong)
}

/** Runs a generator to its end without pausing. */
export function drained<T>(work: Generator<void, T>): T {
  for (;;) {
    const next = work.next()
    if (next.done) return next.value
  }
}

/** Calls `fn` with 0 to `count` - 1, then calls `then`. Slices like `inSlices`. */
export function eachInSlices(
  count: number,
  fn: (index: number) => void,
  then?: () => void,
  every?: number,
): Promise<void> | null {
  if (every === undefined && count <= atOnce) {
    for (let index = 0; index < count; index++) fn(index)
    then?.()
    return null
  }
  let next = 0
  const more = (): boolean => {
    if (next < count) fn(next++)
    return next < count
  }
  return inSlices(more, then, every)
}

/**
 * Maps in slices. Returns the array itself if everything fit into one slice. A single item may take
 * milliseconds.
 */
export function mapInSlices<T, R>(items: readonly T[], fn: (item: T, index: number) => R): MaybePromise<R[]> {
  const results = new Array<R>(items.length)
  const one = (index: number): void => {
    results[index] = fn(items[index] as T, index)
  }
  const rest = eachInSlices(items.length, one, nothing, 1)
  return rest === null ? results : rest.then(() => results)
}

/** True if the time ran out before the work did. */
function goesOn(more: () => boolean, every: number, until: number): boolean {
  for (;;) {
    for (let pieces = 0; pieces < every; pieces++) if (!more()) return false
    if (performance.now() >= until) return true
  }
}

/** Jobs that got no time in this turn come first in the next. */
function runTurn(): void {
  leftMs = turnMs
  const end = performance.now() + turnMs
  const share = turnMs / waiting.length
  for (let left = waiting.length; left > 0; left--) {
    const now = performance.now()
    if (now >= end) break
    const work = waiting.shift() as Work
    try {
      if (goesOn(work.more, work.every, now + share)) waiting.push(work)
      else work.resolve()
    } catch (error) {
      work.reject(error)
    }
  }
  isDue = false
  if (waiting.length > 0) due()
}

const queue: (() => void)[] = []
let isQueueDue = false
/** Start of the current turn, and how often it was asked for time. The second call schedules a reset. */
let askedSince = 0
let asked = 0

/**
 * The turn for work that is done at once for each of many requests. null: run now, while this turn's work
 * fits into a slice. Otherwise a promise for a later turn. A lone request only looks at the clock.
 */
export function turnForOne(): Promise<void> | null {
  if (queue.length === 0) {
    const now = performance.now()
    const isLate = asked > 0 && now - askedSince >= turnMs
    if (asked === 0 || (asked === 1 && isLate)) {
      asked = 1
      askedSince = now
      return null
    }
    if (asked === 1) setImmediate(forgetAsked)
    asked += 1
    if (!isLate) return null
  }
  return new Promise((begin) => {
    queue.push(begin)
    if (!isQueueDue) setImmediate(runQueue)
    isQueueDue = true
  })
}

function forgetAsked(): void {
  if (!isQueueDue) asked = 0
}

function runQueue(): void {
  asked = 2
  askedSince = performance.now()
  runNext()
}

/** A tick requested from a microtask runs after all microtasks, which the previous job started. */
function runNext(): void {
  if (queue.length === 0) {
    isQueueDue = false
    setImmediate(forgetAsked)
  } else if (performance.now() - askedSince >= turnMs) setImmediate(runQueue)
  else {
    queue.shift()?.()
    queueMicrotask(() => process.nextTick(runNext))
  }
}
