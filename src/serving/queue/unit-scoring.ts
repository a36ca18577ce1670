/** Scores a unit once, and gives its members their finals. */
import { hash } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Failure, FailureKind, Outcome, Sample, Term, Unreadable } from '../../core/sample/sample.ts'
import type { RequestTimes, Spell } from '../../core/stalls/request-times.ts'
import type { Gateway, KeptAnswer, KeptAnswers } from '../../scoring/gateway/gateway.ts'
import { nativeResultText, nativeTermsText } from '../../trainers/native-result.ts'
import { rowOf } from './envelope.ts'
import { Pauses } from './pauses.ts'
import type { Plans } from './plans.ts'
import type { Unit } from './ready.ts'
import type { FinalState } from './records.ts'
import type { Pending } from './run-state.ts'
import type { RunStore } from './run-store.ts'
import { damaged, unscored } from './unscored.ts'

/** What scoring needs. */
export interface ScoringParts {
  readonly gateway: Pick<Gateway, 'score' | 'reward' | 'settings' | 'guard'>
  readonly clock: Clock
  /** Unix time in milliseconds. */
  readonly wallClock: () => number
}

/**
 * What became of a try. `over`: each member has its final, or will be scored after a restart. `aborted`: what has no final is to be
 * scored again. `unknown`: no config has its reward. Otherwise servers were away, and the unit is to be
 * tried again later; `spells`: what it has waited for until now.
 */
export type Tried =
  | 'over'
  | 'aborted'
  | 'unknown'
  | { readonly away: FailureKind; readonly spells: readonly Spell[] }

/** `version`: of the config that scored it; absent: none did. */
interface Scored {
  readonly outcomes: readonly Outcome[]
  readonly version?: string
}

/** Rows that are shown with one request. */
const mostShown = 256

/** A unit that is being scored. */
export class Try {
  readonly unit: Unit
  /** Of what its members sent. */
  readonly bytes: number
  isAborted = false
  /** Cancels its questions; set once the first was asked. */
  left: () => void = () => {}
  /** What its members wait for; null before scoring has begun. */
  times: RequestTimes | null = null
  readonly #rows: ReadonlyMap<Pending, number>

  constructor(unit: Unit) {
    this.unit = unit
    this.bytes = unit.members.reduce((sum, { bodyBytes }) => sum + bodyBytes, 0)
    this.#rows = new Map(unit.members.map((pending, row) => [pending, row]))
  }

  /** What a member waits for at this moment; null if that is not known. */
  waitOf(pending: Pending) {
    return this.times?.current(this.#rows.get(pending) ?? 0) ?? null
  }

  abort(): void {
    this.isAborted = true
    this.left()
  }
}

export class UnitScoring {
  readonly #parts: ScoringParts
  readonly #plans: Plans
  readonly held = new HeldBodies()
  /** Judges' answers that were kept from an earlier try or start, and asked for no more. */
  reusedAnswers = 0

  constructor(parts: ScoringParts, plans: Plans) {
    this.#parts = parts
    this.#plans = plans
  }

  /** Never rejects. */
  score(job: Try): Promise<Tried> {
    return this.#score(job).catch((error: unknown) => this.#failed(job.unit, error))
  }

  /** Ends rollouts without scoring them, as the engine ends rows that cannot be read: the record and the monitors see them. */
  async end(unit: Unit, failure: Failure): Promise<void> {
    const { store, members } = unit
    let scored: Scored
    try {
      scored = await this.#unread(store, members, failure)
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'RG_CLOSING') return
      scored = { outcomes: members.map((pending) => unscored(pending, failure)) }
    }
    await this.#finishAll(unit, scored)
  }

  /** Shows rollouts that have got this failure as their finals to the record and the monitors. Never rejects. */
  async show(store: RunStore, finished: readonly Pending[], failure: Failure): Promise<void> {
    const requests = new Map<string, Pending[]>()
    for (const pending of finished) {
      const { reward, step } = pending.head
      const key = JSON.stringify([reward, step])
      const members = requests.get(key) ?? []
      requests.set(key, members)
      members.push(pending)
    }
    for (const members of requests.values())
      for (let from = 0; from < members.length; from += mostShown)
        // A gateway without room, or without this reward, shows nothing.
        await this.#unread(store, members.slice(from, from + mostShown), failure).catch(() => {})
  }

  /** Rows of one reward and one step that the engine does not read. */
  async #unread(store: RunStore, members: readonly Pending[], failure: Failure): Promise<Scored> {
    const { reward, step, uid, attempt } = (members[0] as Pending).head
    return this.#parts.gateway.score({
      reward,
      rows: members.map(({ head }) => ({ id: head.uid, failure })),
      run: store.run,
      trainingStep: step,
      requestId: `${store.run}/${uid}/${attempt}`,
      arrived: this.#arrivalOf(members),
      ...this.#plans.policyOf(reward),
      signal: () => {},
    })
  }

  async #score(job: Try): Promise<Tried> {
    const { store, members } = job.unit
    const { clock, gateway, wallClock } = this.#parts
    const { reward, step, group, uid, attempt } = (members[0] as Pending).head
    const rows = await Promise.all(members.map((pending) => this.#rowOf(store, pending)))
    const answers = await keptAnswers(store, members, () => {
      this.reusedAnswers += 1
    })
    if (job.isAborted) return 'aborted'
    const deadlineMs = Math.max(1, ...members.map(({ head }) => head.deadline)) - wallClock()
    const began = clock.now()
    const scored = await gateway.score({
      reward,
      rows,
      run: store.run,
      trainingStep: step,
      requestId: `${store.run}/${members.length > 1 ? group : `${uid}/${attempt}`}`,
      deadlineMs: Math.max(1, deadlineMs),
      arrived: this.#arrivalOf(members),
      earlier: job.unit.earlier && throughPause(job.unit.earlier, clock.now()),
      ...this.#plans.policyOf(reward),
      answers,
      onBegan: (times) => {
        job.times = times
      },
      onRules: members.some(({ head }) => head.partial) ? keepPartial(job.unit) : undefined,
      signal: (left) => {
        job.left = left
        if (job.isAborted) left()
      },
    })
    if (job.isAborted) return 'aborted'
    const row = scored.outcomes.findIndex((outcome) => this.#isAway(outcome, clock.now() - began))
    const away = scored.outcomes[row]
    if (away && !away.valid && this.#mayRetry(job.unit))
      return {
        away: away.failure.kind,
        spells: job.times?.spellsOf(row, clock.now() - job.times.began) ?? [],
      }
    await this.#finishAll(job.unit, scored)
    return 'over'
  }

  /** When the last of them was accepted, on the clock, over a restart too. The system's time may have been set back before that. */
  #arrivalOf(members: readonly Pending[]): number {
    const { clock, wallClock } = this.#parts
    return clock.now() - Math.max(0, wallClock() - Math.max(...members.map(({ head }) => head.at)))
  }

  async #finishAll({ store, members, isGroup }: Unit, { outcomes, version }: Scored): Promise<void> {
    const given = members.map((pending, at) => {
      const outcome = outcomes[at] as Outcome
      return { pending, state: stateOf(pending, outcome), result: nativeResultText(outcome), version }
    })
    const { reward, size = 0 } = (members[0] as Pending).head
    const isWhole = isGroup && members.length >= size
    const done = store.finish(given, isWhole ? 'whole' : this.#plans.compares(reward) ? 'apart' : null)
    for (const pending of members) this.held.delete(pending)
    // The log is closed: after a restart the rollouts are scored again with the answers that were kept.
    await done.catch(() => {})
  }

  async #rowOf(store: RunStore, pending: Pending): Promise<Sample | Unreadable> {
    const { uid } = pending.head
    if (pending.damage === null) {
      try {
        return await rowOf(uid, this.held.get(pending) ?? (await store.reader.bodyOf(pending)))
      } catch (error) {
        pending.damage = error instanceof Error ? error.message : 'its sample cannot be read'
      }
    }
    return { id: uid, failure: damaged(pending.damage) }
  }

  /** Whether servers were away, and not the rollout's own deadline over. */
  #isAway(outcome: Outcome, tookMs: number): boolean {
    if (outcome.valid) return false
    const { kind } = outcome.failure
    if (kind === 'deadline') return tookMs >= this.#parts.gateway.settings.limits.deadline_s * 1000
    return kind === 'overloaded' || kind === 'judge_unreachable' || kind === 'sandbox_unreachable'
  }

  #mayRetry({ members }: Unit): boolean {
    return members.some(({ head }) => Pauses.leavesTime(head.deadline, this.#parts.wallClock()))
  }

  async #failed(unit: Unit, error: unknown): Promise<Tried> {
    const code = error instanceof GatewayError ? error.code : 'RG_INTERNAL'
    // It stays on disk.
    if (code === 'RG_CLOSING') return 'over'
    if (code === 'RG_REWARD_UNKNOWN') return 'unknown'
    if (code === 'RG_OVERLOADED' && this.#mayRetry(unit))
      return { away: 'overloaded', spells: unit.earlier ?? [] }
    const detail =
      error instanceof GatewayError
        ? error.message
        : 'an internal error of the gateway; its log has the details'
    if (code === 'RG_INTERNAL')
      this.#parts.gateway.guard.run('queue', () => {
        throw error
      })
    const kind = code === 'RG_OVERLOADED' ? 'overloaded' : 'function_error'
    const failure: Failure = { kind, retryable: true, detail }
    await this.#finishAll(unit, { outcomes: unit.members.map((pending) => unscored(pending, failure)) })
    return 'over'
  }
}

/** Spells that are kept of earlier tries: a rollout may be tried for days. */
const mostEarlier = 64

/** A pause counts like the last wait for a server before it. */
function throughPause(earlier: readonly Spell[], now: number): readonly Spell[] {
  const last = earlier.at(-1)
  const waited = earlier.findLast(({ cause }) => cause !== 'gateway')
  return last && waited ? [...earlier.slice(-mostEarlier), { ...waited, from: last.to, to: now }] : earlier
}

const stateOf = ({ damage }: Pending, { valid }: Outcome): FinalState =>
  valid ? 'scored' : damage === null ? 'invalid' : 'damaged'

const keepPartial =
  ({ store, members }: Unit) =>
  (row: number, terms: readonly Term[]): void => {
    const pending = members[row] as Pending
    if (pending.head.partial) void store.keepPartial(pending, nativeTermsText(terms))
  }

/** Bytes of accepted rollouts that are kept in memory in addition to the disk. */
const mostHeld = 64 * 1024 * 1024

/** What trainers sent a moment ago, so that it is not read from the disk again. */
class HeldBodies {
  readonly #bodies = new Map<Pending, Buffer>()
  #bytes = 0

  /** Does nothing if there is no room. */
  add(pending: Pending, body: Buffer): void {
    if (this.#bytes + body.length > mostHeld) return
    // A copy: a batch of lines must not stay in memory for one of them.
    this.#bodies.set(pending, Buffer.from(body))
    this.#bytes += body.length
  }

  get(pending: Pending): Buffer | undefined {
    return this.#bodies.get(pending)
  }

  delete(pending: Pending): void {
    const body = this.#bodies.get(pending)
    if (!body) return
    this.#bodies.delete(pending)
    this.#bytes -= body.length
  }
}

/**
 * The judges' answers of rollouts that are scored together. New ones go to disk with the next commit, so that a restart asks only
 * for what was under way. `reused` is called for each answer that need not be asked for again.
 */
async function keptAnswers(
  store: RunStore,
  members: readonly Pending[],
  reused: () => void,
): Promise<KeptAnswers> {
  const known = new Map<string, string>()
  for (const pending of members)
    if (pending.answers.size > 0)
      for (const [key, answer] of await store.reader.answersOf(pending)) known.set(key, answer)
  // Two steps may ask the same question: each has its own answer.
  const taken = new Map<string, number>()
  const added = new Map<string, number>()
  return {
    get(question) {
      if (known.size === 0) return undefined
      const key = keyOf(question)
      const at = taken.get(key) ?? 0
      const kept = known.get(`${key} ${at}`)
      if (kept === undefined) return undefined
      taken.set(key, at + 1)
      reused()
      return JSON.parse(kept) as KeptAnswer
    },
    add(question, { answer, instance, prompt, completion }) {
      const owner = members.find(({ isOver }) => !isOver)
      const text = owner ? exactJson({ answer, instance, prompt, completion }) : null
      if (!owner || text === null) return
      const key = keyOf(question)
      let at = added.get(key) ?? 0
      while (known.has(`${key} ${at}`)) at += 1
      added.set(key, at + 1)
      void store.keepAnswer(owner, `${key} ${at}`, text)
    },
  }
}

/** The key of a question holds its sampling settings in full. */
const keyOf = (question: string): string => hash('sha256', question, 'base64').slice(0, 32)

/** The JSON of an answer; null if JSON would change it. */
function exactJson(value: KeptAnswer): string | null {
  let isExact = true
  const text = JSON.stringify(value, (_key, one) => {
    if ((typeof one === 'number' && !Number.isFinite(one)) || ArrayBuffer.isView(one)) isExact = false
    return one
  })
  return isExact ? text : null
}
