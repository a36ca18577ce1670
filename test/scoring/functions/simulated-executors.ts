import { ChunkPool, type ChunkPoolOptions } from '../../../src/scoring/functions/chunk-pool.ts'
import type { JobEnd, JobResult, StartExecutor } from '../../../src/scoring/functions/job.ts'
import { runningMark, type Stage } from '../../../src/scoring/functions/progress.ts'
import { fakeClock } from '../../support/clock.ts'

const score: JobResult = { type: 'called', result: { status: 'verdicts', verdicts: [{ value: 1 }] } }
const startMs = 200

/** What became of a job, and when. */
export interface Ended {
  readonly name: string
  readonly text: string
  readonly status: JobEnd['status']
  readonly ms: number
}

/**
 * A pool of executors in simulated time, which take 200 ms to start. A job whose response is `hang` never ends, one of
 * `die 100` takes its executor with it after 100 ms; of any other the response is the milliseconds that it takes.
 */
export function simulated(options: Partial<ChunkPoolOptions> = {}) {
  const clock = fakeClock()
  const restarts: string[] = []
  const ended: Ended[] = []
  let begun = 0
  let sentRows = 0
  let running = 0
  let most = 0
  const start: StartExecutor = (events) => {
    let isDead = false
    let stage: Stage = { at: 'idle' }
    let number = 0
    let last = Promise.resolve()
    const after = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve))
    running++
    most = Math.max(most, running)
    clock.after(startMs, () => {
      if (!isDead) events.ready()
    })
    return {
      run(chunk) {
        const own = ++number
        last = last.then(async () => {
          const ms: number[] = []
          const until = clock.now() + 50
          for (const [index, job] of chunk.entries()) {
            if (isDead) return
            if (ms.length > 0 && clock.now() > until) break
            begun++
            stage = { at: 'running', chunk: own, index, mark: own * 10_000 + runningMark(index) }
            const text = job.type === 'call' ? (job.rows[0]?.sample.response ?? '') : ''
            if (text.startsWith('die')) {
              await after(Number(text.slice(3)))
              if (isDead) return
              isDead = true
              running--
              events.gone('it died', false)
              return
            }
            if (text === 'hang') await new Promise(() => {})
            // The clock moves in steps of 10 ms.
            else if (Number(text) >= 1) await after(Number(text))
            ms.push(Number(text))
          }
          stage = { at: 'idle' }
          if (!isDead) events.done({ results: ms.map(() => score), ms })
        })
        return own
      },
      stage: () => stage,
      rest() {},
      async end() {
        if (!isDead) running--
        isDead = true
      },
    }
  }
  const pool = new ChunkPool({
    start,
    executors: 1,
    chunk: { jobs: 256, workMs: 2, shares: options.executors ?? 1, leastMs: 1 },
    depth: 1,
    sampleTimeoutMs: 5000,
    loadTimeoutMs: 20_000,
    clock,
    onRestart: (name, why) => restarts.push(`${name} ${why}`),
    ...options,
  })
  return {
    pool,
    clock,
    ended,
    restarts,
    get begun() {
      return begun
    },
    get mostExecutors() {
      return most
    },
    /** Sends a row of a function. */
    send(name: string, text: string, request?: { readonly isOver: boolean }) {
      const sent = clock.now()
      sentRows++
      const sample = { id: '', prompt: '', response: text, groundTruth: null, rmPrompts: {}, extraInfo: {} }
      pool.run(
        { type: 'call', name, op: 'score', options: '{}', rows: [{ sample, earlier: {} }] },
        ({ status }) => ended.push({ name, text, status, ms: clock.now() - sent }),
        request,
      )
    },
    /** Advances time in steps of 10 ms. The loop gets turns in and after a step in which something happens. */
    async pass(ms: number, each: (now: number) => void = () => {}) {
      let stepsWithTurns = 3
      for (let left = ms; left > 0; left -= 10) {
        const before = sentRows
        each(clock.now())
        if (clock.advance(10) || sentRows > before) stepsWithTurns = 3
        if (stepsWithTurns-- > 0) for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
      }
    },
  }
}
