import { Pool } from 'undici'

/** One request as it went. Milliseconds since the load began; `at` is when it was due, so that waiting to be sent counts. */
export interface Sent {
  readonly at: number
  readonly ms: number
  readonly kind: 'scored' | 'refused' | 'other'
  /** Of a refusal: whether it said when to come again. */
  readonly hasRetryAfter: boolean
}

/** Single samples that come as they come, whether or not earlier ones are answered; a refusal is the last word. */
export interface OpenLoad {
  readonly url: string
  /** Samples a second, by the seconds since the load began. */
  perSecond(second: number): number
  readonly seconds: number
  body(): string
}

/** A load as it went. */
export interface OpenLoop {
  readonly sent: readonly Sent[]
  /** How long the generator itself stood still at most: what is later than that is not its doing. */
  readonly stoodStillMs: number
}

/** Arrivals are a Poisson process. Resolves when every request is answered. */
export async function openLoop({ url, perSecond, seconds, body }: OpenLoad): Promise<OpenLoop> {
  const pool = new Pool(url, { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 30_000 })
  const sent: Sent[] = []
  const under: Promise<void>[] = []
  const began = performance.now()
  let due = 0
  let last = 0
  let stoodStillMs = 0
  while (due < seconds * 1000) {
    const now = performance.now() - began
    stoodStillMs = Math.max(stoodStillMs, now - last)
    last = now
    while (due <= now && due < seconds * 1000) {
      under.push(ask(pool, body(), began, due).then((one) => void sent.push(one)))
      due += (-Math.log(1 - Math.random()) * 1000) / perSecond(due / 1000)
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(under)
  await pool.close()
  return { sent, stoodStillMs }
}

/** The most that comes through: `callers` that each send the next sample once they have an answer. */
export async function closedLoop(load: Omit<OpenLoad, 'perSecond'> & { callers: number }): Promise<number> {
  const pool = new Pool(load.url, { connections: load.callers, headersTimeout: 0, bodyTimeout: 0 })
  const began = performance.now()
  const until = load.seconds * 1000
  let scored = 0
  const caller = async () => {
    for (let now = 0; now < until; now = performance.now() - began) {
      const { kind } = await ask(pool, load.body(), began, now)
      if (kind === 'scored' && performance.now() - began <= until) scored++
    }
  }
  await Promise.all(Array.from({ length: load.callers }, caller))
  await pool.close()
  return scored / load.seconds
}

async function ask(pool: Pool, body: string, began: number, at: number): Promise<Sent> {
  const headers = { 'content-type': 'application/json' }
  const answer = await pool.request({ path: '/v1/score', method: 'POST', body, headers })
  const text = await answer.body.text()
  const ms = performance.now() - began - at
  const { statusCode } = answer
  const isScored = statusCode === 200 && JSON.parse(text).results[0].valid === true
  const kind = isScored ? 'scored' : statusCode === 429 ? 'refused' : 'other'
  return { at, ms, kind, hasRetryAfter: Number(answer.headers['retry-after']) >= 1 }
}
