import t from 'tap'
import type { CallResult } from '../../../src/scoring/functions/function-host.ts'
import { quickClock } from '../../support/clock.ts'
import { failureOf, noteEvents, numberOf, openWith, score } from '../../support/function-calls.ts'
import { withoutPython } from '../../support/python.ts'
import { rule } from './author-files.ts'
import {
  attacks,
  goodFolder,
  hostileFolder,
  hostilePython,
  mayScore,
  pythonAttacks,
  silentAttacks,
} from './hostile-files.ts'

t.setTimeout(300_000)

const isRight = (name: string, result: CallResult): boolean =>
  /^rule_(error|timeout): /.test(failureOf(result)) ||
  (mayScore.has(name) && [0.5, 1].includes(numberOf(result)))

// A process that begins nothing has 5 s, and its rows are tried five times. The quick clock must not hurry starts and loading, which
// take a busy machine seconds.
const silentLimits = { sampleTimeoutMs: 5000, loadTimeoutMs: 600_000, clock: quickClock(5) }

for (const [what, limits, names] of [
  ['does', { sampleTimeoutMs: 2000 }, Object.keys(attacks).filter((name) => !silentAttacks.has(name))],
  ['does in silence', silentLimits, [...silentAttacks]],
] as const)
  t.test(
    `whatever a JavaScript function ${what}, it costs at most its own samples (M5, M6, M7, M8)`,
    async (t) => {
      const { events, failures } = noteEvents()
      const folders = [t.testdir({ bad: hostileFolder, good: goodFolder })].flatMap((folder) => [
        `${folder}/bad`,
        `${folder}/good`,
      ])
      const host = await openWith(folders, {
        memoryMb: 256,
        events,
        ...limits,
      })
      t.teardown(() => host.close())
      const [hostile, good, shipped] = await Promise.all([
        host.bind('hostile', {}),
        host.bind('good', {}),
        host.bind('math-verify', {}),
      ])
      // The first row of a function compiles it, which a busy machine may take longer for than a row may take.
      await score(host, shipped, '\\boxed{42}', '42')
      for (const name of names) {
        failures.length = 0
        const [before, attacked, after, other, right, wrong] = await Promise.all([
          score(host, hostile, 'fine'),
          score(host, hostile, name),
          score(host, hostile, 'fine'),
          score(host, good, ' yes ', 'yes'),
          score(host, shipped, '\\boxed{42}', '42'),
          score(host, shipped, '\\boxed{41}', '42'),
        ])
        t.ok(isRight(name, attacked), `${name}: ${failureOf(attacked)}`)
        t.strictSame([before, after, other, right, wrong].map(numberOf), [0.5, 0.5, 1, 1, 0], name)
        const later = await Promise.all([score(host, hostile, 'fine'), score(host, good, ' no ', 'yes')])
        t.strictSame(later.map(numberOf), [0.5, 0], `${name}, afterwards`)
        t.ok(
          failures.every(({ name: blamed }) => blamed === 'hostile'),
          name,
        )
      }
    },
  )

t.test(
  'whatever a Python function does, it costs at most its own samples (M5)',
  { skip: withoutPython },
  async (t) => {
    const folder = t.testdir({
      bad: hostilePython,
      good: { 'good_py.py': 'def compute_score(solution_str):\n    return 1\n' },
    })
    const host = await openWith([`${folder}/bad`, `${folder}/good`], { python: { memoryMb: 512 } })
    t.teardown(() => host.close())
    const [hostile, good, stubborn] = await Promise.all([
      host.bind('hostile_py', { range: [0, 1] }),
      host.bind('good_py', { range: [0, 1] }),
      host.bind('stubborn', { range: [0, 1] }),
    ])
    for (const name of Object.keys(pythonAttacks)) {
      const [before, attacked, after, other] = await Promise.all([
        score(host, hostile, 'fine'),
        score(host, hostile, name),
        score(host, hostile, 'fine'),
        score(host, good, 'x'),
      ])
      t.ok(isRight(name, attacked), `${name}: ${failureOf(attacked)}`)
      t.strictSame([before, after, other].map(numberOf), [0.5, 0.5, 1], name)
      t.equal(numberOf(await score(host, hostile, 'fine')), 0.5, `${name}, afterwards`)
    }
    const results = await Promise.all(['x', 'never', 'x'].map((one) => score(host, stubborn, one)))
    t.strictSame(results.map(numberOf), [1, Number.NaN, 1], 'a coroutine that heeds no cancellation')
    t.match(failureOf(results[1]!), /^rule_timeout/)
    t.equal(numberOf(await score(host, stubborn, 'x')), 1)
  },
)

t.test('built-ins that one folder replaces stay as they are for all others (M7)', async (t) => {
  const patches = [
    "String.prototype.trim = () => '42'; String.prototype.slice = () => '42'",
    'Map.prototype.get = () => undefined',
    'Array.prototype.includes = () => true; Number.isFinite = () => true; Math.abs = () => 0',
    "Object.freeze = (value) => value; RegExp.prototype.exec = () => ['42', '42']",
  ]
  const names = patches.map((_patch, at) => `patches-${at}`)
  const folder = t.testdir({
    good: goodFolder,
    ...Object.fromEntries(
      patches.map((patch, at) => [`bad-${at}`, { [`patches-${at}.mjs`]: rule(`${patch}\nreturn 1`) }]),
    ),
  })
  const folders = [...patches.map((_patch, at) => `${folder}/bad-${at}`), `${folder}/good`]
  const host = await openWith(folders, { threads: 1 })
  t.teardown(() => host.close())
  const bound = await Promise.all(
    ['good', 'math-verify', 'prime-math', 'numeric-match'].map((name) => host.bind(name, {})),
  )
  const [good, ...shipped] = bound
  for (const [at, patch] of patches.entries()) {
    const patched = await host.bind(names[at]!, {})
    await score(host, patched, 'x')
    await score(host, patched, 'x')
    t.strictSame(
      [await score(host, good!, ' no ', 'yes'), await score(host, good!, ' yes ', 'yes')].map(numberOf),
      [0, 1],
      patch,
    )
    for (const fn of shipped)
      t.strictSame(
        [await score(host, fn, '\\boxed{41}', '42'), await score(host, fn, '\\boxed{42}', '42')].map(
          numberOf,
        ),
        [0, 1],
        `${fn.name} beside ${patch}`,
      )
  }
})
