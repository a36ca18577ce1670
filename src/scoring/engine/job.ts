import type { Clock } from '../../core/clock.ts'
import type { Failure, Outcome, Sample, Term, Unreadable } from '../../core/sample/sample.ts'
import type { RequestTimes, Spell } from '../../core/stalls/request-times.ts'
import type { Trace } from '../../core/tracing/open-tracing.ts'
import type { KeptAnswers } from '../models/interface/ask.ts'
import { CancelToken, whenAborted } from '../models/interface/cancel-token.ts'
import type { Plan } from '../plan/plan.ts'
import type { VoteEvent } from './events.ts'

/**
 * The rows of one request. Optional fields may be undefined, because copying an object to leave them out costs more than a rule.
 */
export interface RowsToScore {
  readonly rows: readonly (Sample | Unreadable)[]
  /**
   * Aborted when the client no longer waits. A function is called with a callback when the first question is asked, and calls
   * that callback when the client leaves.
   */
  readonly signal: CancelSource
  readonly run?: string | undefined
  readonly trainingStep?: number | undefined
  /** The request's id in the record; absent: the client sent none. */
  readonly requestId?: string | undefined
  /** The request's position in a trace; absent: not traced. */
  readonly trace?: Trace | undefined
  /** When the request had been received, in milliseconds on the clock; absent: now. */
  readonly arrived?: number | undefined
  /** What the rows have waited for in earlier tries, oldest first. */
  readonly earlier?: readonly Spell[] | undefined
  /** Accumulates the time that the request waits for models and groups. */
  readonly waitTime?: WaitTime | undefined
  /** If true, refused with RG_OVERLOADED when its questions would wait too long for their models. Otherwise they wait. */
  readonly isRefusable?: boolean | undefined
  /** Size of the request body, to estimate the memory of its questions; absent: 0. */
  readonly bodyBytes?: number | undefined
  /** Judges' answers that these rows have received before; new ones are added. */
  readonly answers?: KeptAnswers | undefined
  /** Called once when scoring begins, with where the time of each row goes from then on. */
  readonly onBegan?: ((times: RequestTimes) => void) | undefined
  /**
   * Called at most once per row and before its outcome: with the terms of its rules, once they are done and other steps are not.
   * Rules that need another step do not count.
   */
  readonly onRules?: ((index: number, terms: readonly Term[]) => void) | undefined
  /** Called once per row, in any order, as soon as its outcome is final. */
  readonly onOutcome?: ((index: number, outcome: Outcome) => void) | undefined
  /** Called for each vote, before any outcome that it counts toward. */
  readonly onVote?: ((event: VoteEvent) => void) | undefined
}

/** What the engine scores: rows with the plan of their reward. */
export interface EngineJob extends RowsToScore {
  readonly plan: Plan
  /** Milliseconds on the engine's clock. Rows without an outcome by then fail with `deadline`. */
  readonly deadline: number
}

/**
 * How long a request waited, in milliseconds, with a question at a model or for other answers of a group. Overlapping waits count
 * once.
 */
export class WaitTime {
  #waits = 0
  #since = 0
  #ms = 0

  begin(now: number): void {
    if (this.#waits === 0) this.#since = now
    this.#waits += 1
  }

  end(now: number): void {
    this.#waits -= 1
    if (this.#waits === 0) this.#ms += now - this.#since
  }

  /** The total up to `now`; a request that timed out still has questions in progress. */
  until(now: number): number {
    return this.#waits === 0 ? this.#ms : this.#ms + now - this.#since
  }
}

/**
 * A signal that is aborted when the client leaves, or a function that subscribes a callback to that and calls it at most once.
 */
type CancelSource = AbortSignal | ((left: () => void) => void)

/** When a request ends early: at its deadline or, once a question was asked, when its client leaves. */
export interface Expiry {
  /** Aborted at the end; cancels upstream calls. */
  readonly signal: AbortSignal | CancelToken
  /** True from the end on: results that arrive later are discarded. */
  readonly isOver: boolean
  dispose(): void
}

// A class, because a getter in an object literal made V8 keep a shape for each request, and with it the request.
/**
 * Calls `end` at most once, never synchronously, with the failure for everything unfinished, and then aborts the signal. Does
 * nothing after `dispose`.
 */
export class RequestExpiry implements Expiry {
  readonly #client: CancelSource
  readonly #run: string | undefined
  readonly #end: (failure: Failure) => void
  readonly #cancel: () => void
  #stop: CancelToken | undefined
  #unsubscribe: (() => void) | undefined
  #isOver = false

  constructor(
    clock: Clock,
    { deadline, signal, run }: Pick<EngineJob, 'deadline' | 'signal' | 'run'>,
    end: (failure: Failure) => void,
  ) {
    this.#client = signal
    this.#run = run
    this.#end = end
    this.#cancel = clock.after(Math.max(0, deadline - clock.now()), () =>
      this.#over({ kind: 'deadline', retryable: true, detail: "the request's deadline passed" }),
    )
  }

  // Created when the first question is asked: listening for the client cost more than scoring rules (`npm run rules` in bench/).
  get signal(): CancelToken {
    if (this.#stop) return this.#stop
    this.#stop = new CancelToken(this.#run)
    if (this.#isOver) this.#stop.stop()
    else if (typeof this.#client === 'function') this.#client(this.#left)
    else this.#unsubscribe = whenAborted(this.#client, this.#left)
    return this.#stop
  }

  get isOver(): boolean {
    return this.#isOver
  }

  dispose(): void {
    this.#isOver = true
    this.#cancel()
    this.#unsubscribe?.()
  }

  readonly #left = () =>
    queueMicrotask(() =>
      this.#over({ kind: 'cancelled', retryable: true, detail: 'the client disconnected' }),
    )

  #over(failure: Failure): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#end(failure)
    this.#stop?.stop()
  }
}

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
