/**
 * Work of many small pieces, done in slices, so that no turn of the event loop is held up for long: a request may have
 * tens of thousands of rows, and what is done for each of them in one go keeps every other request waiting.
 */

/** What all sliced work of one turn may take together, milliseconds. */
const turnMs = 10
/** Pieces between two looks at the clock, unless the caller says that one piece may take milliseconds. */
const looksEvery = 8
/** Rows of a small request, which are done without a look at it. */
const atOnce = 32

interface Work {
  readonly more: () => boolean
  readonly every: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What is there at once, or later. */
export type MaybePromise<T> = T | Promise<T>

const waiting: Work[] = []
let isDue = false
/** What work that begins in this turn may still take at once, milliseconds. */
let leftMs = turnMs

/**
 * Calls `more`, a piece of work, until it returns false, and then `then`. null: all was done at once, since it took less
 * than a slice; otherwise a promise for the rest, which later turns do. What is thrown is thrown, or rejects the promise.
 * `every`: pieces between two looks at the clock.
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
  // Most work is small: it costs no look at the clock.
  for (let pieces = 0; pieces < every; pieces++) if (!more()) return true
  // Many works that each fit into a slice share this one as well.
  if (leftMs <= 0) return false
  const began = performance.now()
  const isLeft = goesOn(more, every, began + leftMs)
  leftMs = isLeft ? 0 : leftMs - (performance.now() - began)
  // The next turn has its own time, also where nothing waits for it.
  due()
  return !isLeft
}

function due(): void {
  if (!isDue) setImmediate(runTurn)
  isDue = true
}

/**
 * What a work that yields between its pieces gives, in slices: itself where it took less than one. What stands before its first
 * yield is done at once.
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

/** Characters that are worked on in one turn where the work cannot be parted. */
const turnChars = 256 * 1024
/** Fewer take no part in it. */
const fewChars = 16 * 1024

const long: { readonly chars: number; readonly begin: () => void }[] = []

/** The turn for a work on one long text that cannot be parted; null: at once, it is short. */
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

/** What such a work gives, in one go. */
export function drained<T>(work: Generator<void, T>): T {
  for (;;) {
    const next = work.next()
    if (next.done) return next.value
  }
}

/** Calls `fn` with 0 to `count` - 1, and then `then`, as `inSlices` does. */
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

/** As `map` does, in slices: the array itself where it took less than one. One item may take milliseconds. */
export function mapInSlices<T, R>(items: readonly T[], fn: (item: T, index: number) => R): MaybePromise<R[]> {
  const results = new Array<R>(items.length)
  const one = (index: number): void => {
    results[index] = fn(items[index] as T, index)
  }
  const rest = eachInSlices(items.length, one, nothing, 1)
  return rest === null ? results : rest.then(() => results)
}

/** True where the time ran out before the work did. */
function goesOn(more: () => boolean, every: number, until: number): boolean {
  for (;;) {
    for (let pieces = 0; pieces < every; pieces++) if (!more()) return false
    if (performance.now() >= until) return true
  }
}

/** However many wait: who had no time left in this turn comes first in the next. */
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
/** Since when, and how often, this turn was asked for time; a reset comes with the second time. */
let askedSince = 0
let asked = 0

/**
 * The turn for what is done for each of many requests in one go: null, in this one, while what was begun in it took less than a
 * slice; else a promise for a later one. Requests that come alone cost a look at the clock.
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

/** A tick that a microtask asks for comes when all microtasks are done: what the one before set off. */
function runNext(): void {
  if (queue.length === 0) {
    isQueueDue = false
    setImmediate(forgetAsked)
  } else if (performance.now() - askedSince >= turnMs) setImmediate(runQueue)
  else {
    queue.shift()?.()
    // queueMicrotask makes an AsyncResource each time: 2 % of a judged sample.
    void settled.then(tickNext)
  }
}

const settled = Promise.resolve()
const tickNext = (): void => process.nextTick(runNext)
