import t from 'tap'
import { numberOf, openWith, score } from '../../support/function-calls.ts'
import { withoutPython } from '../../support/python.ts'
import { rule } from './author-files.ts'
import { simulated } from './simulated-executors.ts'

const limitMs = 5000
/** A start, the steps of the watch, and the job before. */
const slackMs = 600

const pools = [
  { executors: 1, depth: 1, hanging: 16 },
  { executors: 1, depth: 1, hanging: 64 },
  { executors: 1, depth: 2, hanging: 16 },
  { executors: 2, depth: 1, hanging: 16 },
  { executors: 2, depth: 2, hanging: 16 },
  { executors: 4, depth: 1, hanging: 16 },
  { executors: 4, depth: 2, hanging: 16 },
  { executors: 4, depth: 2, hanging: 64 },
] as const

for (const { executors, depth, hanging } of pools)
  t.test(
    `${hanging} hanging rows delay no other function by more than a time limit: ${executors} executors, depth ${depth} (M16)`,
    async (t) => {
      const pool = simulated({ executors, depth })
      const { send, pass, ended, restarts } = pool
      for (let row = 0; row < hanging; row++) {
        send('hangs', 'hang')
        send('hangs', '0.1')
      }
      send('other', '0.1')
      let sent = 1
      await pass(30_000, (now) => {
        if (now % 100 !== 0) return
        send('other', '0.1')
        sent++
      })
      const others = ended.filter(({ name }) => name === 'other')

      await t.test('all but the last row of the other function have their score', async (t) => {
        t.ok(sent - others.length <= 1, `${others.length} of ${sent}`)
        t.strictSame([...new Set(others.map(({ status }) => status))], ['done'])
      })

      await t.test('none waited longer than a time limit, and few more than a second', async (t) => {
        const worst = Math.max(...others.map(({ ms }) => ms))
        t.ok(worst <= limitMs + slackMs, `the worst waited ${worst} ms`)
        // Those of the first time limit.
        const late = others.filter(({ ms }) => ms > 1000).length
        t.ok(late <= 55, `${late} of ${others.length} waited more than a second`)
      })

      await t.test('there is at most one executor more', async (t) => {
        const { mostExecutors } = pool
        t.ok(mostExecutors > 0 && mostExecutors <= executors + 1, `${mostExecutors}`)
      })

      await pass(hanging * (limitMs + limitMs / 8 + 1000))
      const own = ended.filter(({ name }) => name === 'hangs')

      await t.test('each hanging row ends with its time limit', async (t) => {
        t.equal(own.filter(({ status }) => status === 'timeout').length, hanging)
        t.ok(restarts.length <= 2 * hanging, `${restarts.length} restarts`)
      })

      await t.test('quick rows of the hanging function have their scores', async (t) => {
        const good = own.filter(({ text }) => text !== 'hang')
        t.equal(good.length, hanging)
        t.ok(good.every(({ status }) => status === 'done'))
      })
    },
  )

for (const executors of [1, 2])
  t.test(
    `rows that end their executor delay no other function by more than one of them: ${executors} executors`,
    async (t) => {
      const { send, pass, ended } = simulated({ executors })
      for (let row = 0; row < 8; row++) send('dies', 'die3000')
      await pass(20_000, (now) => {
        if (now % 500 === 0) send('other', '0.1')
      })
      const others = ended.filter(({ name }) => name === 'other')
      t.ok(others.length >= 38, `${others.length} have ended`)
      const worst = Math.max(...others.map(({ ms }) => ms))
      t.ok(worst <= limitMs + slackMs, `the worst waited ${worst} ms`)
      await pass(60_000)
      const lost = ended.filter(({ name }) => name === 'dies')
      t.equal(lost.length, 8, 'each has its end')
    },
  )

t.test('quick rows of a hanging function do not wait for the hanging ones to time out (M16)', async (t) => {
  const { send, pass, ended } = simulated()
  for (let row = 0; row < 64; row++) send('hangs', 'hang')
  for (let row = 0; row < 64; row++) send('hangs', '0.1')
  await pass(120_000)
  const good = ended.filter(({ text }) => text !== 'hang')
  t.equal(good.length, 64)
  const worst = Math.max(...good.map(({ ms }) => ms))
  t.ok(worst < 90_000, `${worst} ms instead of 64 time limits, 320 s`)
})

t.test(
  'a row of another request waits for one hanging row at most, not for all of a request (M16)',
  async (t) => {
    for (const text of ['hang', 'die3000']) {
      const { send, pass, ended } = simulated()
      const [hanging, other] = [{ isOver: false }, { isOver: false }]
      for (let row = 0; row < 64; row++) send('hangs', text, hanging)
      await pass(1000)
      for (let row = 0; row < 8; row++) send('hangs', '0.1', other)
      await pass(500_000)
      const good = ended.filter((one) => one.text === '0.1')
      t.equal(good.length, 8)
      const worst = Math.max(...good.map(({ ms }) => ms))
      t.ok(worst <= limitMs + slackMs, `${text}: ${worst} ms`)
      t.equal(ended.length, 72)
    }
  },
)

t.test(
  'rows that take nearly their time limit delay another function by no more than one of them (M16)',
  async (t) => {
    const { send, pass, ended } = simulated({ executors: 2 })
    for (let row = 0; row < 100; row++) send('slow', '4900')
    await pass(20_000, (now) => {
      if (now % 500 === 0) send('other', '0.1')
    })
    const others = ended.filter(({ name }) => name === 'other')
    t.equal(others.length, 40)
    const worst = Math.max(...others.map(({ ms }) => ms))
    t.ok(worst <= limitMs + slackMs, `${worst} ms`)
  },
)

t.test('two slow functions share the executors by time, whichever sends more rows (M16)', async (t) => {
  const { send, pass, ended } = simulated()
  for (let row = 0; row < 100; row++) send('long', '400')
  for (let row = 0; row < 8; row++) send('short', '50')
  await pass(10_000)
  const short = ended.filter(({ name }) => name === 'short')
  t.equal(short.length, 8)
  t.ok(Math.max(...short.map(({ ms }) => ms)) < 2500, 'its 0.4 s of work are done beside 40 s of the other')
})

t.test('rows whose request is over are not begun', async (t) => {
  const made = simulated()
  const request = { isOver: false }
  for (let row = 0; row < 20; row++) made.send('hangs', 'hang', request)
  await made.pass(6000)
  request.isOver = true
  const { begun } = made
  await made.pass(20_000)
  t.ok(made.begun <= begun + 1, `${made.begun - begun} begun`)
  t.equal(made.ended.length, 20)
  t.ok(made.ended.filter(({ status }) => status === 'unwanted').length >= 16)
})

t.test(
  'a pool closes if every row that waits for its first executor is of a request that is over',
  async (t) => {
    const { pool, send, pass, ended } = simulated()
    const request = { isOver: false }
    send('row', '0.1', request)
    await pass(100)
    request.isOver = true
    let isClosed = false
    void pool.close().then(() => {
      isClosed = true
    })
    await pass(1000)
    t.strictSame(
      ended.map(({ status }) => status),
      ['unwanted'],
    )
    t.ok(isClosed)
  },
)

t.test('an executor that finished a chunk while nobody looked is not blamed for it', async (t) => {
  const { send, pass, ended, restarts } = simulated({ depth: 2 })
  send('first', '0.1')
  await pass(400)
  for (let row = 0; row < 300; row++) send('row', '19')
  await pass(12_000)
  t.equal(ended.filter(({ status }) => status === 'done').length, 301)
  t.strictSame(restarts, [])
})

t.test(
  '8 hanging rows in JavaScript and Python leave the rows of another function alone (M16)',
  async (t) => {
    const folder = t.testdir({
      'hangs.mjs': rule(
        "if (sample.response === 'hang') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)\nreturn 1",
      ),
      'other.mjs': rule('return 1'),
      ...(withoutPython
        ? {}
        : {
            'hangs_py.py':
              'import time\ndef compute_score(solution_str):\n    while solution_str == "hang": time.sleep(0.2)\n    return 1\n',
            'other_py.py': 'def compute_score(solution_str):\n    return 1\n',
          }),
    })
    const host = await openWith([folder], { threads: 1, sampleTimeoutMs: 1000 })
    t.teardown(() => host.close())
    const leftAlone = async (hanging: string, quick: string): Promise<void> => {
      const [hangs, other] = [await host.bind(hanging, {}), await host.bind(quick, {})]
      const rows = Array.from({ length: 8 }, () => score(host, hangs, 'hang'))
      const good = score(host, hangs, 'good')
      const begun = performance.now()
      t.equal(numberOf(await score(host, other, 'x')), 1)
      const ms = performance.now() - begun
      t.ok(ms < 5000, `${quick}: ${Math.round(ms)} ms, and 8 time limits are 8 s`)
      t.equal(numberOf(await good), 1)
      const all = await Promise.all(rows)
      t.ok(all.every((result) => result.status === 'failed' && result.failure.kind === 'rule_timeout'))
    }
    await Promise.all([leftAlone('hangs', 'other'), withoutPython ? null : leftAlone('hangs_py', 'other_py')])
  },
)
t.setTimeout(120_000)
