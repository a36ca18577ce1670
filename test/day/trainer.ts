import pLimit from 'p-limit'
import { Agent, request } from 'undici'
import { bodyOf, pictureOf } from './bodies.ts'
import { type Row, truthOf } from './load.ts'
import type { Stage } from './stage.ts'

/** What a row came to. */
export interface Final {
  readonly row: Row
  readonly reward: number | null
  /** The kind of its failure; null if it has a reward. */
  readonly failure: string | null
  readonly edition: number
  readonly tries: number
  /** Milliseconds on the clock of the step. */
  readonly sentMs: number
  readonly doneMs: number
  /** Of these, how many the processes between trainer and reward stood in line for a core. */
  readonly waitedMs: number
  /** Asked again because its group has a newer version: it waits for others that are asked with it. */
  readonly isAgain: boolean
}

interface UnderWay {
  readonly controller: AbortController
  readonly sentMs: number
  readonly bytes: number
}

/** What a try led to: an answer of a replica, or a pause before the next. */
type Told =
  | { readonly answer: Pick<Final, 'reward' | 'failure' | 'edition'>; readonly replica: number }
  | { readonly pauseMs: number }

/** Rows that are asked again because of a newer version, at once. */
const againAtOnce = 64
/** How long a trainer is patient with one row. */
const patienceMs = 900_000
const [firstPauseMs, longestPauseMs] = [250, 8000]
/** Statuses that a client answers by asking again, as docs/errors.md and the Python client do. */
const isLater = (status: number) => status === 408 || status === 425 || status === 429 || status >= 500

/**
 * Sends each rollout in a request of its own, holds it until its reward comes, and asks again after a refusal or a lost connection. If a
 * reward of a group says that the config has changed, the group's rows of the older version are asked again, at once: the gateway
 * still has the answers of their judges.
 */
export class Trainer {
  readonly finals = new Map<string, Final>()
  /** Every answer, also those that are no row's final one. */
  readonly answers: Final[] = []
  readonly underWay = new Map<Row, UnderWay>()
  readonly cancelled = new Set<Row>()
  readonly violations: string[] = []
  /** Requests by how they ended. */
  readonly ends = { answered: 0, refused: 0, lost: 0 }
  readonly refusals = new Map<string, number>()
  /** Rows that were asked again because their group has a newer version. */
  again = 0
  mostBytes = 0
  #bytes = 0
  readonly #gently = pLimit(againAtOnce)
  readonly #stage: Stage
  readonly #now: () => number
  readonly #editionOf = new Map<string, number>()
  readonly #written = new Map<Row, Buffer>()
  readonly #agent = new Agent({
    headersTimeout: patienceMs,
    bodyTimeout: patienceMs,
    connect: { timeout: 30_000 },
  })

  /** `now`: milliseconds on the clock of the step. */
  constructor(stage: Stage, now: () => number) {
    this.#stage = stage
    this.#now = now
  }

  get bytesUnderWay(): number {
    return this.#bytes
  }

  /** The versions that replicas serve now, and that are new, are known as the edition that was last written. */
  async learn(): Promise<void> {
    const { edition } = this.#stage
    for (const replica of this.#stage.replicas)
      for (const [name, version] of await replica.versions()) {
        const key = `${name} ${version}`
        // A replica that has not read its configs yet still has the older edition.
        if (!this.#editionOf.has(key)) this.#editionOf.set(key, edition)
      }
  }

  /** Writes the request of a row before its time, as those do that generate rollouts: rows that end together are sent together. */
  write(row: Row): void {
    this.#written.set(row, Buffer.from(bodyOf(row)))
  }

  /** Resolves once the row has its final answer, or is cancelled. */
  async score(row: Row, isAgain = false): Promise<void> {
    const body = this.#written.get(row) ?? Buffer.from(bodyOf(row))
    this.#written.delete(row)
    const final = await this.#ask(row, body, isAgain)
    if (!final) return
    this.answers.push(final)
    if (this.finals.has(row.id)) this.violations.push(`${row.id} has two final rewards`)
    this.finals.set(row.id, final)
    this.#check(final)
  }

  /** Sends a rollout that was stopped half-way: it must come to no reward. */
  async scoreHalf(row: Row): Promise<void> {
    const final = await this.#ask(row, Buffer.from(bodyOf(row, true)))
    if (final) this.answers.push(final)
    if (final && final.failure !== 'aborted')
      this.violations.push(`${row.id} was aborted and came to ${final.reward ?? final.failure}`)
  }

  /** Asks again for the rows of a group whose version is not the newest that it has. */
  async unify(group: readonly Row[]): Promise<void> {
    const finals = group.flatMap((row) => this.finals.get(row.id) ?? [])
    const newest = Math.max(...finals.map(({ edition }) => edition))
    const older = finals.filter(({ edition }) => edition < newest)
    this.again += older.length
    for (const { row } of older) this.finals.delete(row.id)
    await Promise.all(older.map(({ row }) => this.#gently(() => this.score(row, true))))
  }

  /** Closes the requests that have been under way longest; says how many. */
  cancel(count: number): number {
    const oldest = [...this.underWay].sort(([, one], [, other]) => one.sentMs - other.sentMs).slice(0, count)
    for (const [row, { controller }] of oldest) {
      this.cancelled.add(row)
      controller.abort()
    }
    return oldest.length
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }

  /** null: cancelled. */
  async #ask(row: Row, body: Buffer, isAgain = false): Promise<Final | null> {
    const controller = new AbortController()
    const sentMs = this.#now()
    const bytes = body.length
    this.underWay.set(row, { controller, sentMs, bytes })
    this.#bytes += bytes
    this.mostBytes = Math.max(this.mostBytes, this.#bytes)
    const waited = [0, 1].map((replica) => this.#stage.waitedMs(replica))
    try {
      for (let tries = 1; ; tries++) {
        const told = await this.#try(row, body, controller.signal)
        if (controller.signal.aborted) return null
        if ('answer' in told) {
          const { answer, replica } = told
          const waitedMs = Math.max(0, this.#stage.waitedMs(replica) - (waited[replica] ?? 0))
          return { row, ...answer, tries, sentMs, doneMs: this.#now(), waitedMs, isAgain }
        }
        if (this.#now() - sentMs > patienceMs) {
          this.violations.push(`${row.id} had no answer within ${patienceMs / 1000} s`)
          return null
        }
        const growing = Math.min(longestPauseMs, firstPauseMs * 2 ** (tries - 1))
        // Not all at once: what was lost together would come back together.
        await this.#stage.time.pause(Math.max(told.pauseMs, growing * (0.5 + Math.random() / 2)))
      }
    } finally {
      this.underWay.delete(row)
      this.#bytes -= bytes
    }
  }

  async #try(row: Row, body: Buffer, signal: AbortSignal): Promise<Told> {
    const headers = {
      'content-type': 'application/json',
      'x-reward-gateway-group': encodeURIComponent(row.group),
    }
    try {
      const reply = await request(`${this.#stage.origin}/v1/score`, {
        dispatcher: this.#agent,
        method: 'POST',
        headers,
        body,
        signal,
      })
      const text = await reply.body.text()
      if (reply.statusCode === 200) {
        this.ends.answered += 1
        return { answer: this.#read(row, text), replica: Number(reply.headers['x-reward-gateway-replica']) }
      }
      if (!isLater(reply.statusCode))
        this.violations.push(`${row.id}: ${reply.statusCode} ${text.slice(0, 300)}`)
      this.ends.refused += 1
      const code = `${reply.statusCode} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`
      this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1)
      return { pauseMs: 1000 * (Number(reply.headers['retry-after']) || 0) }
    } catch {
      this.ends.lost += Number(!signal.aborted)
      return { pauseMs: 0 }
    }
  }

  #read(row: Row, text: string): Pick<Final, 'reward' | 'failure' | 'edition'> {
    const { results, reward } = JSON.parse(text) as {
      results: readonly { id: string; reward: number | null; failure: { kind: string } | null }[]
      reward: { name: string; version: string }
    }
    const [result] = results
    if (results.length !== 1 || result?.id !== row.id || reward.name !== row.kind)
      this.violations.push(`${row.id} got ${text.slice(0, 300)}`)
    const edition = this.#editionOf.get(`${reward.name} ${reward.version}`)
    return {
      reward: result?.reward ?? null,
      failure: result?.failure?.kind ?? null,
      // Until the new versions are known, what is not old is new.
      edition: edition ?? this.#stage.edition,
    }
  }

  #check({ row, reward, failure, edition }: Final): void {
    if (!this.#isTrue(row, reward, failure, edition))
      this.violations.push(
        `${row.id} of ${row.kind} came to ${reward ?? failure} instead of ${JSON.stringify(truthOf(row, edition, pictureOf(row)))}`,
      )
  }

  #isTrue(row: Row, reward: number | null, failure: string | null, edition: number): boolean {
    // A failure that nobody expects is counted by its kind, and is no wrong number.
    if (reward === null) return failure !== null
    const truth = truthOf(row, edition, pictureOf(row))
    return 'reward' in truth && reward >= truth.reward[0] && reward <= truth.reward[1]
  }
}
