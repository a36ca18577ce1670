import t from 'tap'
import { ChunkPool } from '../../src/functions/chunk-pool.ts'
import type { ExecutorEvents } from '../../src/functions/executor.ts'
import type { Job, JobEnd, JobResult } from '../../src/functions/job.ts'
import type { Stage } from '../../src/functions/progress.ts'
import { type FakeClock, fakeClock } from '../support/clock.ts'

/** A pool of one executor, which does what the test says: `given` are the chunks that it was given, by name. */
function pooled(clock: FakeClock = fakeClock()) {
  const given: string[] = []
  const ends: Record<string, string> = {}
  const restarts: string[] = []
  let stage: Stage = { at: 'idle' }
  let events: ExecutorEvents
  let size = 0
  const pool = new ChunkPool({
    start: (told) => {
      events = told
      setImmediate(() => told.ready())
      return {
        run(chunk) {
          given.push(chunk.map(({ name }) => name).join(' '))
          size = chunk.length
        },
        stage: () => stage,
        rest() {},
        async end() {},
      }
    },
    executors: 1,
    chunk: { jobs: 256, workMs: 2, shares: 1, leastMs: 1 },
    depth: 1,
    sampleTimeoutMs: 1000,
    loadTimeoutMs: 20_000,
    clock,
    onRestart: (name, why) => restarts.push(`${name} ${why}`),
  })
  const result: JobResult = { type: 'refused', problems: [] }
  return {
    pool,
    given,
    ends,
    restarts,
    run: (...names: string[]) => {
      for (const name of names)
        pool.run({ name, type: 'describe' } satisfies Job, (end: JobEnd) => {
          t.notOk(ends[name], `${name} ends once`)
          ends[name] = end.status
        })
    },
    /** The executor is at this job of its chunk. */
    at: (index: number, mark = index) => {
      stage = { at: 'running', index, mark }
    },
    done: () => events.done({ results: Array(size).fill(result), ms: Array(size).fill(0.01) }),
    dies: () => events.gone('it died'),
    turns: async () => {
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
    },
  }
}

t.test(
  'a job that its executor dies of is tried once more, alone; its neighbours are not lost',
  async (t) => {
    const { given, ends, restarts, run, at, done, dies, turns } = pooled()
    run('a', 'killer', 'b', 'c')
    await turns()
    at(1)
    dies()
    await turns()
    done()
    at(0)
    t.strictSame(given, ['a killer b c', 'a', 'killer'])
    dies()
    await turns()
    t.strictSame(ends, { a: 'done', killer: 'lost' })
    done()
    t.strictSame(given.slice(3), ['b c'])
    t.strictSame(ends, { a: 'done', killer: 'lost', b: 'done', c: 'done' })
    t.strictSame(restarts, ['killer crash', 'killer crash'])
  },
)

t.test('a time limit is that of one job, from when it is first seen to run', async (t) => {
  const clock = fakeClock()
  const { given, ends, restarts, run, at, done, turns } = pooled(clock)
  run('a', 'hangs', 'b')
  await turns()
  clock.advance(5000)
  at(0)
  clock.advance(1000)
  at(1)
  clock.advance(1000)
  t.strictSame(ends, {}, 'neither has had its second')
  clock.advance(200)
  t.strictSame(ends, { hangs: 'timeout' })
  await turns()
  done()
  t.strictSame(ends, { hangs: 'timeout', a: 'done', b: 'done' })
  t.strictSame(given, ['a hangs b', 'a b'])
  t.strictSame(restarts, ['hangs timeout'])
})

t.test('closing waits for all that was taken, and takes no more', async (t) => {
  const { pool, ends, run, done, turns } = pooled()
  run('a')
  await turns()
  run('b')
  const closed = pool.close()
  run('late')
  t.strictSame(ends, { late: 'closed' })
  done()
  await turns()
  done()
  await closed
  t.strictSame(ends, { late: 'closed', a: 'done', b: 'done' })
})

t.test('what waits has a limit', async (t) => {
  const { ends, run, pool } = pooled()
  for (let i = 0; i < 65_536; i++) pool.run({ name: 'many', type: 'describe' }, () => {})
  run('one more')
  t.strictSame(ends, { 'one more': 'overloaded' })
})
