/**
 * Limits how much of one request is in progress at once. A request may have tens of thousands of rows; asking all their questions
 * at once would fill the memory and block the event loop. A step that waits for its group takes no room, so the members of a
 * group never keep it waiting.
 */

/** What one request may have in progress: this many rules, and half as many questions to each model. */
const capacity = 8192
/** Room taken by a rule, or by any other call that asks no question. */
export const callRoom = 1
/** Room taken by each vote on a question. */
export const drawRoom = 2
/** Questions that one request may have in progress at one model. */
export const mostQuestions = capacity / drawRoom
/** Questions of a request that begin immediately; the others wait for later turns of the event loop. */
const atOnce = 64
/** What all requests together may start from their queues in one turn of the event loop. */
const turn = { questions: 64, ms: 8 }
/** Starts between two reads of the clock. */
const looksEvery = 8

interface Waiting {
  readonly room: number
  /** Remaining calls of `begin`. */
  left: number
  readonly begin: () => void
}

let due: Gate[] = []
let isDue = false

/** Admits what fits. The rest waits in order, and each turn of the event loop starts a few. */
export class Gate {
  #free = capacity
  #asked = 0
  #waiting: (Waiting | undefined)[] = []
  #head = 0
  #isDue = false

  /** True: the room is taken, so begin now and call `leave` at the end. False: nothing was taken. */
  enters(room: number): boolean {
    if (this.#head < this.#waiting.length || !this.#fits(room)) return false
    if (room >= drawRoom) {
      if (this.#asked >= atOnce * drawRoom) return false
      this.#asked += room
    }
    this.#free -= room
    return true
  }

  /** Calls `begin`, which must not throw, `times` times, each as soon as there is this much room. Each one ends with `leave`. */
  wait(room: number, begin: () => void, times = 1): void {
    if (times === 0) return
    this.#waiting.push({ room, left: times, begin })
    this.#schedule()
  }

  leave(room: number): void {
    this.#free += room
    if (this.#head < this.#waiting.length) this.#schedule()
  }

  /** Runs `work` once there is room for it, and returns its result. */
  async through<T>(room: number, work: () => Promise<T>): Promise<T> {
    if (!this.enters(room)) await new Promise<void>((resolve) => this.wait(room, resolve))
    try {
      return await work()
    } finally {
      this.leave(room)
    }
  }

  /** The results of `work` for 0 to `count` - 1. `work` must not throw. Rejects with the first rejection. */
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

  /** Starts the first waiting item and returns the room that it takes, or 0 if nothing can start. */
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

  /** Called when the scheduler has nothing more to start for this gate. */
  isNoLongerDue(): void {
    this.#isDue = false
  }

  /** An item larger than the whole capacity runs alone. */
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

/** Equal for steps that share a gate because they ask the same models. */
export const gateKey = (models: readonly string[]): string =>
  models.length === 1 ? (models[0] as string) : models.join('\n')

/** One request's gates. Questions that wait for one model take no room from rules or from other models. */
export class Gates {
  /** For rules and other calls that ask no question. */
  readonly calls = new Gate()
  #gates: Map<string, Gate> | undefined

  /** The gate of steps that ask these models. */
  of(models: readonly string[]): Gate {
    if (models.length === 0) return this.calls
    const key = gateKey(models)
    this.#gates ??= new Map()
    const known = this.#gates.get(key)
    if (known) return known
    const made = new Gate()
    this.#gates.set(key, made)
    return made
  }
}

/** Round robin over requests, so that none waits for another to finish. */
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
