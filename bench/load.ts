import { Pool } from 'undici'

/** Requests that are sent in turn, `concurrency` of them at a time. */
export interface Load {
  readonly url: string
  readonly path: string
  readonly bodies: readonly string[]
  readonly requests: number
  readonly concurrency: number
}

/** A load as it went. */
export interface LoadResult {
  readonly seconds: number
  /** Milliseconds. */
  readonly latencies: readonly number[]
  readonly first: unknown
}

interface Answer {
  readonly results?: readonly { readonly failure?: unknown }[]
}

/** Throws at the first answer that is not 200, and if the first of all has a sample without a reward: refusals cost less. */
export async function applyLoad({ url, path, bodies, requests, concurrency }: Load): Promise<LoadResult> {
  const pool = new Pool(url, { connections: concurrency, headersTimeout: 0, bodyTimeout: 0 })
  const latencies: number[] = []
  let sent = 0
  let first: unknown
  const started = performance.now()
  const worker = async () => {
    while (sent < requests) {
      const body = bodies[sent++ % bodies.length] ?? ''
      const began = performance.now()
      const answer = await pool.request({
        path,
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      })
      if (answer.statusCode !== 200)
        throw new Error(`${path}: ${answer.statusCode} ${await answer.body.text()}`)
      if (first === undefined) {
        first = await answer.body.json()
        const failed = (first as Answer).results?.find(({ failure }) => failure)
        if (failed) throw new Error(`${path}: a sample has no reward: ${JSON.stringify(failed.failure)}`)
      } else await answer.body.dump({ limit: Number.MAX_SAFE_INTEGER })
      latencies.push(performance.now() - began)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  await pool.close()
  return { seconds: (performance.now() - started) / 1000, latencies, first }
}
