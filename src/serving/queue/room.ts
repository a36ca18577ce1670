/** What the queue holds, and what it may still take: rollouts, bytes on disk, and questions to judges. */
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { GatewaySettings } from '../../scoring/plan/gateway-config.ts'
import type { AcceptHead } from './records.ts'
import type { Pending } from './run-state.ts'

/** What a client may still send. */
export interface Credits {
  readonly rollouts: number
  readonly bytes: number
  /** Questions to judges, as the rollouts of each reward have asked on average. */
  readonly questions: number
}

/** Whose key sends a rollout. `maxRollouts`: without a final; absent: as many as all. */
export interface Sender {
  readonly name: string
  readonly maxRollouts?: number | undefined
}

interface RoomParts {
  readonly settings: () => NonNullable<GatewaySettings['queue']>
  /** Questions that a rollout of a reward asks on average; 0 if the reward has gone. */
  readonly questionsOf: (reward: string) => number
  /** Of finals. */
  readonly rate: EventRate
}

/** Bytes on disk that are reserved for the final of each rollout. */
const finalBytes = 4096

/** Counted with each change, so that a reply costs the same with one run and with thousands. */
export class Room {
  readonly #parts: RoomParts
  /** Rollouts without a final. */
  unfinished = 0
  /** On disk. */
  bytes = 0
  /** Of `unfinished` and of those that are being written, by reward. */
  readonly #byReward = new Map<string, number>()
  /** The same by key. */
  readonly #byKey = new Map<string, number>()
  /** Rollouts that are being written, and their bytes. */
  #arriving = { rollouts: 0, bytes: 0 }

  constructor(parts: RoomParts) {
    this.#parts = parts
  }

  /** `sign` 1: a rollout has no final yet. -1: it has one, or a newer attempt took its place. */
  readonly pendingChanged = ({ reward, key }: AcceptHead, sign: 1 | -1): void => {
    this.unfinished += sign
    count(this.#byReward, reward, sign)
    if (key !== undefined) count(this.#byKey, key, sign)
  }

  readonly bytesChanged = (bytes: number): void => {
    this.bytes += bytes
  }

  get credits(): Credits {
    const { max_rollouts, max_bytes, max_questions } = this.#parts.settings()
    const unfinished = this.unfinished + this.#arriving.rollouts
    const bytes = this.bytes + this.#arriving.bytes + unfinished * finalBytes
    return {
      rollouts: Math.max(0, max_rollouts - unfinished),
      bytes: Math.max(0, max_bytes - bytes),
      questions: Math.max(0, Math.floor(max_questions - this.questions)),
    }
  }

  /** Questions that all rollouts without a final are expected to ask in total. */
  get questions(): number {
    let sum = 0
    for (const [reward, rollouts] of this.#byReward) sum += rollouts * this.#parts.questionsOf(reward)
    return sum
  }

  /**
   * Takes the room of a rollout that is about to be written; call the returned function after that. `before`: the attempt without a final
   * that it replaces. Throws RG_OVERLOADED.
   */
  enter(reward: string, bodyBytes: number, before: Pending | null, sender?: Sender): () => void {
    const bytes = bodyBytes + finalBytes
    const left = this.credits
    if (left.rollouts < 1 && !before) throw this.#full('rollouts')
    if (left.bytes < bytes) throw this.#full('bytes')
    // A rollout that asks more than fits is accepted when it is the only one.
    const asked = this.#parts.questionsOf(reward) - (before ? this.#parts.questionsOf(before.head.reward) : 0)
    if (asked > left.questions && this.questions > 0) throw this.#full('questions')
    if (sender && before?.head.key !== sender.name) this.#checkKey(sender)
    this.#arrive(reward, bytes, sender, 1)
    return () => this.#arrive(reward, bytes, sender, -1)
  }

  #checkKey({ name, maxRollouts = Number.POSITIVE_INFINITY }: Sender): void {
    const unfinished = this.#byKey.get(name) ?? 0
    if (unfinished < maxRollouts) return
    throw this.#refusal(
      `${unfinished} rollouts of the key '${name}' have no final yet, and its max_rollouts is ${maxRollouts}`,
      unfinished,
    )
  }

  #arrive(reward: string, bytes: number, sender: Sender | undefined, sign: 1 | -1): void {
    this.#arriving.rollouts += sign
    this.#arriving.bytes += sign * bytes
    count(this.#byReward, reward, sign)
    if (sender) count(this.#byKey, sender.name, sign)
  }

  #full(what: keyof Credits): GatewayError {
    const settings = this.#parts.settings()
    const text = {
      rollouts: `${this.unfinished} rollouts have no final yet, and queue.max_rollouts is ${settings.max_rollouts}`,
      bytes: `the queue takes ${this.bytes} bytes on disk, and queue.max_bytes is ${settings.max_bytes}`,
      questions: `the rollouts without a final ask about ${Math.round(this.questions)} questions, and queue.max_questions is ${settings.max_questions}`,
    }[what]
    return this.#refusal(text, this.unfinished)
  }

  /** Names the time in which a twentieth of so many rollouts is scored. */
  #refusal(text: string, unfinished: number): GatewayError {
    const retryAfterS = this.#parts.rate.secondsFor(unfinished / 20)
    return new GatewayError('RG_OVERLOADED', `${text}; send this later`, { retryAfterS })
  }
}

function count(counts: Map<string, number>, name: string, sign: 1 | -1): void {
  const now = (counts.get(name) ?? 0) + sign
  if (now > 0) counts.set(name, now)
  else counts.delete(name)
}

/** Events are counted over this time and the same time before. */
const windowMs = 10_000
/** Without any event, and at most. */
const unknownS = 30
const mostS = 60

/** How often something happens: how fast finals come, to say how soon there is room for more. */
export class EventRate {
  readonly #clock: Clock
  #now = 0
  #before = 0
  #since: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.now()
  }

  readonly count = (): void => {
    this.#turn()
    this.#now += 1
  }

  /** Over the last 10 to 20 seconds. */
  get perSecond(): number {
    this.#turn()
    const seconds = (windowMs + this.#clock.now() - this.#since) / 1000
    return (this.#now + this.#before) / seconds
  }

  /** Whole seconds in which so many events are expected, 1 to 60. */
  secondsFor(events: number): number {
    const { perSecond } = this
    const wait = perSecond > 0 ? events / perSecond : unknownS
    return Math.min(mostS, Math.max(1, Math.ceil(wait)))
  }

  #turn(): void {
    const passed = this.#clock.now() - this.#since
    if (passed < windowMs) return
    this.#before = passed < 2 * windowMs ? this.#now : 0
    this.#now = 0
    this.#since = this.#clock.now()
  }
}
