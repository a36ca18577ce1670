/**
 * How much of one request is under way at once. A request may have tens of thousands of rows: to ask all their questions
 * in one go would fill the memory and hold the event loop. A step that waits for its group takes no room here, so that a
 * group is never kept waiting by its own members.
 */

/** What one request may have under way: so many rules, and half as many questions to each model. */
const capacity = 8192
/** Room that a rule takes, or a call that is no question. */
export const callRoom = 1
/** Room that each draw of a question takes. */
export const drawRoom = 2
/** Questions that one request may have under way at one model. */
export const mostQuestions = capacity / drawRoom
/** Questions of a request that begin at once. */
const atOnce = 64
/** What all requests together may begin of what waits, in one turn of the loop. */
const turn = { questions: 64, ms: 8 }
/** Pieces between two looks at the clock. */
const looksEvery = 8

interface Waiting {
  readonly room: number
  /** How often `begin` is still to be called. */
  left: number
  readonly begin: () => void
}

let due: Gate[] = []
let isDue = false

/** Lets in what fits; the rest waits in its order, and a few begin in each turn. */
export class Gate {
  #free = capacity
  #asked = 0
  #waiting: (Waiting | undefined)[] = []
  #head = 0
  #isDue = false

  /** True: what takes this room may begin now, and calls `leave` at its end. False: nothing has happened. */
  enters(room: number): boolean {
    if (this.#head < this.#waiting.length || !this.#fits(room)) return false
    if (room >= drawRoom) {
      if (this.#asked >= atOnce * drawRoom) return false
      this.#asked += room
    }
    this.#free -= room
    return true
  }

  /** Calls `begin`, which must not throw, `times` times, each as soon as there is this room; each one ends with `leave`. */
  wait(room: number, begin: () => void, times = 1): void {
    if (times === 0) return
    this.#waiting.push({ room, left: times, begin })
    this.#schedule()
  }

  /** Gives room back. */
  leave(room: number): void {
    this.#free += room
    if (this.#head < this.#waiting.length) this.#schedule()
  }

  /** What `work` gives, once there was room for it. */
  async through<T>(room: number, work: () => Promise<T>): Promise<T> {
    if (!this.enters(room)) await new Promise<void>((resolve) => this.wait(room, resolve))
    try {
      return await work()
    } finally {
      this.leave(room)
    }
  }

  /** What `work`, which must not throw, gives for 0 to `count` - 1. Rejects as the first of them does. */
  all<T>(count: number, room: number, work: (index: number) => Promise<T>): Promise<T[]> {
    if (count === 0) return Promise.resolve([])
    return new Promise((resolve, reject) => {
      const results = new Array<T>(count)
      let next = 0
      let left = count
      const begin = (): void => {
        const index = next++
        work(index)
          .finally(() => this.leave(room))
          .then((result) => {
            results[index] = result
            if (--left === 0) resolve(results)
          }, reject)
      }
      while (next < count && this.enters(room)) begin()
      this.wait(room, begin, count - next)
    })
  }

  /** Begins the first of what waits; the room that it takes, or 0 where nothing can begin. */
  beginOne(): number {
    const first = this.#waiting[this.#head]
    if (!first || !this.#fits(first.room)) return 0
    this.#free -= first.room
    if (--first.left === 0) {
      this.#waiting[this.#head++] = undefined
      this.#trim()
    }
    first.begin()
    return first.room
  }

  /** Called when its turn has come. */
  isNoLongerDue(): void {
    this.#isDue = false
  }

  /** What is larger than the whole goes alone. */
  #fits(room: number): boolean {
    return room <= this.#free || this.#free === capacity
  }

  #schedule(): void {
    if (this.#isDue) return
    this.#isDue = true
    due.push(this)
    if (!isDue) setImmediate(runDue)
    isDue = true
  }

  #trim(): void {
    if (this.#head < this.#waiting.length && this.#head < 4096) return
    this.#waiting = this.#waiting.slice(this.#head)
    this.#head = 0
  }
}

/** Equal for steps that share a gate: those that ask the same models. */
export const gateKey = (models: readonly string[]): string =>
  models.length === 1 ? (models[0] as string) : models.join('\n')

/** One request's gates: questions that wait for one model leave rules, and questions to other models, their room. */
export class Gates {
  /** Of rules, and of other calls that are no question. */
  readonly calls = new Gate()
  readonly #gates = new Map<string, Gate>()

  /** Of a step that asks these models. */
  of(models: readonly string[]): Gate {
    if (models.length === 0) return this.calls
    const key = gateKey(models)
    const known = this.#gates.get(key)
    if (known) return known
    const made = new Gate()
    this.#gates.set(key, made)
    return made
  }
}

/** One of each request after the other, so that none waits for the end of another. */
function runDue(): void {
  let gates = due
  due = []
  const until = performance.now() + turn.ms
  let asked = 0
  for (let begun = 0; gates.length > 0; ) {
    const rest: Gate[] = []
    for (const gate of gates) {
      const isOver = asked >= turn.questions * drawRoom || (begun >= looksEvery && performance.now() >= until)
      if (isOver) {
        due.push(gate)
        continue
      }
      const room = gate.beginOne()
      if (room === 0) {
        gate.isNoLongerDue()
        continue
      }
      begun++
      if (room >= drawRoom) asked += room
      rest.push(gate)
    }
    gates = rest
  }
  isDue = due.length > 0
  if (isDue) setImmediate(runDue)
}
