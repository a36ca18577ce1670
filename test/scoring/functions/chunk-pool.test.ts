import t from 'tap'
import { ChunkPool } from '../../../src/scoring/functions/chunk-pool.ts'
import type { ExecutorEvents, FunctionJob, JobEnd, JobResult } from '../../../src/scoring/functions/job.ts'
import type { Stage } from '../../../src/scoring/functions/progress.ts'
import { type FakeClock, fakeClock } from '../../support/clock.ts'

/** A pool of one executor, which does what the test says: `given` are the chunks that it was given, by name. */
function pooled(clock: FakeClock = fakeClock(), depth: 1 | 2 = 1) {
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
          return given.length
        },
        stage: () => stage,
        rest() {},
        async end() {},
      }
    },
    executors: 1,
    chunk: { jobs: 256, workMs: 2, shares: 1, leastMs: 1 },
    depth,
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
        pool.run({ name, type: 'describe' } satisfies FunctionJob, (end: JobEnd) => {
          t.notOk(ends[name], `${name} ends once`)
          ends[name] = end.status
        })
    },
    /** The executor is at this job of its chunk. */
    at: (index: number, mark = index) => {
      stage = { at: 'running', chunk: given.length, index, mark }
    },
    done: () => events.done({ results: Array(size).fill(result), ms: Array(size).fill(0.01) }),
    dies: () => events.gone('it died', false),
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
    t.strictSame(given, ['a killer b c', 'a b c', 'killer'])
    dies()
    await turns()
    t.strictSame(ends, { a: 'done', killer: 'lost', b: 'done', c: 'done' })
    t.strictSame(restarts, ['killer crash', 'killer crash'])
  },
)

t.test('a time limit starts when its job is first seen running', async (t) => {
  const clock = fakeClock()
  const { given, ends, restarts, run, at, done, turns } = pooled(clock)
  run('a', 'hangs', 'b')
  await turns()
  clock.advance(1500)
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

t.test('closing waits for accepted jobs and accepts no more', async (t) => {
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

t.test('the queue has a limit', async (t) => {
  const { ends, run, pool } = pooled()
  for (let i = 0; i < 65_536; i++) pool.run({ name: 'many', type: 'describe' }, () => {})
  run('one more')
  t.strictSame(ends, { 'one more': 'overloaded' })
})

t.test('a chunk whose results have not been read yet is not blamed for the one that runs now', async (t) => {
  const clock = fakeClock()
  const { ends, restarts, run, at, done, dies, turns } = pooled(clock, 2)
  run('a')
  await turns()
  at(0, 1)
  clock.advance(200)
  run('b')
  await turns()
  // The executor is at the second chunk; this thread, blocked, has not read the results of the first.
  at(0, 2)
  clock.advance(900)
  t.strictSame(ends, {}, 'a second has passed since the first chunk was seen, but not since the second was')
  done()
  t.strictSame(ends, { a: 'done' })
  clock.advance(300)
  t.strictSame(ends, { a: 'done', b: 'timeout' })
  run('c')
  await turns()
  run('d')
  await turns()
  at(0, 4)
  dies()
  await turns()
  done()
  await turns()
  at(0, 5)
  dies()
  await turns()
  t.strictSame(ends, { a: 'done', b: 'timeout', c: 'done', d: 'lost' }, 'nor for its death')
  t.strictSame(restarts, ['b timeout', 'd crash', 'd crash'])
})
