import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { GatewayError } from '../../../src/core/errors.ts'
import { sourcesOf, watchSources } from '../../../src/scoring/gateway/watch-sources.ts'
import { fakeClock } from '../../support/clock.ts'
import { outcomesOf, resultOf, sampleOf, testGateway } from '../../support/gateway.ts'
import { failsSoon } from '../../support/models.ts'
import { completion, json, type Script, scriptedServer } from '../../support/scripted-server.ts'

const saying =
  (text: string): Script =>
  (seen) =>
    completion(seen, text)

t.test('a reload that moves a model to other servers', async (t) => {
  const held: (() => void)[] = []
  const [old, later] = await Promise.all([scriptedServer(saying('0')), scriptedServer(saying('1'))])
  t.teardown(() => Promise.all([old.kill(), later.kill()]))
  const folder = t.testdir({})
  const write = (url: string, weight: number, drainS = 0) => {
    const judge = { model: 'm', instances: [url], health: { interval_s: 0 } }
    const model = 'judge'
    const first = { name: 'first', function: 'yes-no-judge', model }
    const second = { name: 'second', function: 'yes-no-judge', model, op: 'add', weight, after: ['first'] }
    const config = { models: { judge }, steps: [first, second] }
    writeFileSync(join(folder, 'judged.json'), JSON.stringify(config))
    writeFileSync(join(folder, 'gateway.json'), JSON.stringify({ shutdown: { grace_s: drainS } }))
  }
  write(old.url, 1)
  const gateway = await testGateway(t, {}, { configs: [folder], functionFolders: [] })
  const before = gateway.reward('judged').version
  old.script = (seen, response) => void held.push(() => json(response, completion(seen, '0')))
  const signal = new AbortController().signal
  const rows = Array.from({ length: 20 }, (_, row) => sampleOf(`old ${row}`))
  const underWay = gateway.score({ reward: 'judged', rows, signal })
  const passed = gateway.forward('judge', { path: '/v1/completions', body: { prompt: 'p' }, signal })
  await old.saw(21)
  write(later.url, 3)
  await gateway.reload()

  await t.test('a request that comes after it goes to the servers of the new config', async (t) => {
    t.not(gateway.reward('judged').version, before)
    const [fresh] = await outcomesOf(gateway, 'judged', [sampleOf('new')])
    t.equal(resultOf(fresh), 4)
    t.equal(later.seen.length, 2)
  })

  const release = setInterval(() => held.splice(0).map((reply) => reply()), 1)
  t.teardown(() => clearInterval(release))

  await t.test('a request that came before it keeps its version and servers for all its steps', async (t) => {
    const { outcomes, version } = await underWay
    t.equal(version, before)
    t.strictSame([...new Set(outcomes.map(resultOf))], [0])
    t.equal(old.seen.length, 41)
    t.equal(later.seen.length, 2)
  })

  await t.test('a call that was forwarded before it gets its answer', async (t) => {
    t.match(JSON.parse(await text((await passed).body)), { choices: [{ text: '0' }] })
  })

  await t.test('a model that the next reload leaves as it is keeps its instances', async (t) => {
    const calls = later.seen.length
    write(later.url, 3, 1)
    await gateway.reload()
    t.equal(resultOf((await outcomesOf(gateway, 'judged', [sampleOf('newer')]))[0]), 4)
    t.equal(later.seen.length, calls + 2)
    t.equal(gateway.models()[0]?.instances[0]?.calls, 4)
  })

  await t.test('a closing gateway refuses requests, forwarded calls and reloads', async (t) => {
    const closing = gateway.close(0)
    t.throws(() => gateway.score({ reward: 'judged', rows, signal }), { code: 'RG_CLOSING' })
    await t.rejects(gateway.forward('judge', { path: '/', body: {}, signal }), { code: 'RG_CLOSING' })
    await t.rejects(gateway.reload(), { code: 'RG_CLOSING' })
    await closing
  })
})

/** A gateway whose configs a test can rewrite: a rule worth a half and more, and a judge at an address. */
async function served(t: Test, reload: object, url: string, file = '') {
  const folder = t.testdir({})
  const write = (plus: number, judgeUrl: string) => {
    const put = (name: string, config: object) => writeFileSync(join(folder, name), JSON.stringify(config))
    const model = {
      model: 'm',
      instances: [judgeUrl],
      health: { interval_s: 0 },
      retry: { pause_ms: 1 },
      ...failsSoon,
    }
    put('gateway.json', { models: { judge: model }, reload })
    put('ruled.json', { steps: [{ name: 'rule', function: 'exact-match', weight: 0.5 + plus }] })
    put('judged.json', { steps: [{ name: 'q', function: 'yes-no-judge', model: 'judge' }] })
  }
  write(0, url)
  const told: string[] = []
  const gateway = await testGateway(
    t,
    {},
    {
      configs: [join(folder, file)],
      functionFolders: [],
      events: {
        engine: { done: ({ plan }) => void told.push(plan.name) },
        reloads: { ended: (refusal) => void told.push(refusal === null ? 'served' : 'refused') },
      },
    },
  )
  const refusal = async () => {
    const error: unknown = await gateway.reload().then(
      () => null,
      (caught) => caught,
    )
    return error as GatewayError | null
  }
  return { gateway, write, told, refusal }
}

t.test('a reload with samples whose rewards are known', async (t) => {
  const [good, bad] = await Promise.all([scriptedServer(saying('1')), scriptedServer(saying('0'))])
  t.teardown(() => Promise.all([good.kill(), bad.kill()]))
  const reload = {
    samples: {
      ruled: [
        { name: 'half', response: 'x', ground_truth: 'x' },
        { name: 'broken', response: 'x' },
      ],
      judged: [{ name: 'right', prompt: '2 + 3?', response: '5', min: 0.8 }],
    },
    max_change: 0.1,
    timeout_s: 3600,
  }
  const { gateway, write, told, refusal } = await served(t, reload, good.url)
  const version = gateway.reward('ruled').version

  await t.test('before the first one there is no last reload', async (t) => {
    t.equal(gateway.lastReload, null)
  })

  await t.test('one that changes them too much is refused, with each of them', async (t) => {
    write(0.5, bad.url)
    const error = await refusal()
    t.equal(error?.code, 'RG_RELOAD_REFUSED')
    t.strictSame(error?.problems, [
      {
        path: 'reload.samples.ruled: half',
        message: 'would have 1, and has 0.5 now, a change of more than reload.max_change (0.1)',
      },
      { path: 'reload.samples.judged: right', message: 'would have 0, which is below its min of 0.8' },
    ])
    t.match(gateway.lastReload, {
      at: /^\d{4}-/,
      refusal: { code: 'RG_RELOAD_REFUSED', problems: error?.problems },
    })
  })

  await t.test('listeners receive the refusal but no events of its samples', async (t) => {
    t.strictSame(told, ['refused'])
  })

  await t.test('after a refusal the old config and servers go on', async (t) => {
    t.equal(gateway.reward('ruled').version, version)
    t.equal(resultOf((await outcomesOf(gateway, 'judged', [sampleOf('5')]))[0]), 1)
    t.match(gateway.models(), [{ instances: [{ address: good.url, state: 'ready' }] }])
  })

  await t.test('one that leaves a sample without a reward is refused', async (t) => {
    await bad.kill()
    write(0, bad.url)
    t.match(await refusal(), {
      problems: [{ message: /^has no reward \(judge_unreachable\); it has 1 now$/ }],
    })
  })

  await t.test('one that stays within their bounds is served', async (t) => {
    told.length = 0
    write(0.05, good.url)
    t.equal(await refusal(), null)
    t.not(gateway.reward('ruled').version, version)
    t.match(gateway.lastReload, { refusal: null })
    t.strictSame(told, ['served'])
  })

  await t.test('closing does not wait for them', async (t) => {
    good.script = () => undefined
    write(0.1, good.url)
    const refused = refusal()
    await good.saw(good.seen.length + 1)
    await gateway.close(0)
    t.equal((await refused)?.code, 'RG_RELOAD_REFUSED')
  })
})

t.test('configs that are not served yet send no canaries', async (t) => {
  const server = await scriptedServer(saying('1'))
  t.teardown(() => server.kill())
  const folder = t.testdir({})
  const clock = fakeClock()
  const write = (settings: object) => {
    const judge = { model: 'm', instances: [server.url], health: { interval_s: 0 }, retry: { max: 0 } }
    writeFileSync(join(folder, 'gateway.json'), JSON.stringify({ models: { judge }, ...settings }))
    const steps = [{ name: 'q', function: 'yes-no-judge', model: 'judge' }]
    writeFileSync(join(folder, 'judged.json'), JSON.stringify({ steps }))
  }
  write({})
  let probed = 0
  const gateway = await testGateway(
    t,
    {},
    { configs: [folder], functionFolders: [], clock, events: { canary: { probed: () => void probed++ } } },
  )
  const canary = {
    every_s: 10,
    wrong_rounds: 1,
    probes: { 'yes-no-judge': [{ name: 'p', prompt: 'q', response: '5', max: 0 }] },
  }
  const reload = {
    samples: { judged: [{ name: 'right', prompt: 'q', response: '5', max: 0.5 }] },
    timeout_s: 60,
  }
  write({ canary, reload })
  server.script = () => undefined
  const refused = gateway.reload().then(
    () => 'served',
    (error: GatewayError) => error.code,
  )
  await server.saw(1)
  server.script = saying('1')
  clock.advance(30_000)
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
  t.equal(server.seen.length, 1, 'the sample of the reload')
  clock.advance(30_000)
  t.equal(await refused, 'RG_RELOAD_REFUSED')
  t.equal(probed, 0)
  t.match(gateway.models(), [{ instances: [{ state: 'ready' }] }], 'their verdicts eject no instance')
  write({ canary })
  await gateway.reload()
  clock.advance(1000)
  await server.saw(server.seen.length + 1)
})

t.test('reload samples for an unknown reward are refused with the nearest name', async (t) => {
  const samples = { ruld: [{ name: 'a', response: '1' }] }
  await t.rejects(served(t, { samples }, 'http://127.0.0.1:9'), {
    code: 'RG_CONFIG_INVALID',
    problems: [{ path: 'gateway.yaml: reload.samples.ruld', message: /'ruled'/ }],
  })
  const other = { judged: [{ name: 'right', response: '5', min: 0.8 }] }
  const { refusal } = await served(t, { samples: other }, 'http://127.0.0.1:9', 'ruled.json')
  t.equal(await refusal(), null, 'if a single rm-config is served, samples of other rewards are ignored')
})

/** Watches with its own clock. `look` advances a second and waits until the files were scanned. */
async function watching(sources: () => readonly string[]) {
  const clock = fakeClock()
  const calls = { count: 0 }
  const end = await watchSources(sources, clock, async () => void calls.count++)
  const looked = async () => {
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  const look = async () => {
    clock.advance(1000)
    await looked()
    return calls.count
  }
  return { look, end, clock, calls }
}

t.test('a change is reported once, after a second without further changes', async (t) => {
  const folder = t.testdir({ 'one.yaml': 'a', below: { 'shared.ts': 'b' } })
  const { look, end } = await watching(() => [folder, join(folder, 'later')])
  t.teardown(end)
  t.equal(await look(), 0, 'nothing has changed')
  const changes: (readonly [string, () => void])[] = [
    ['a file was written', () => writeFileSync(join(folder, 'one.yaml'), 'longer')],
    ['a file below was written', () => writeFileSync(join(folder, 'below', 'shared.ts'), 'longer')],
    ['a file came', () => writeFileSync(join(folder, 'two.py'), '')],
    ['a file went', () => rmSync(join(folder, 'two.py'))],
    ['a path that was absent came', () => mkdirSync(join(folder, 'later'))],
    ['and got a file', () => writeFileSync(join(folder, 'later', 'x.json'), '')],
  ]
  for (const [at, [title, change]] of changes.entries()) {
    change()
    t.equal(await look(), at, `${title}: not while it may go on`)
    t.equal(await look(), at + 1, title)
    t.equal(await look(), at + 1, `${title}: once`)
  }
})

t.test('another change restarts the second', async (t) => {
  const folder = t.testdir({ 'one.yaml': '' })
  const { look, end } = await watching(() => [folder])
  t.teardown(end)
  writeFileSync(join(folder, 'one.yaml'), 'x')
  await look()
  writeFileSync(join(folder, 'one.yaml'), 'xy')
  t.equal(await look(), 0)
  t.equal(await look(), 1)
})

t.test('a file that is never read is not a change', async (t) => {
  const folder = t.testdir({ 'one.yaml': '' })
  const { look, end } = await watching(() => [folder])
  t.teardown(end)
  for (const name of ['.one.yaml.swp', 'one.log']) writeFileSync(join(folder, name), 'x')
  mkdirSync(join(folder, '__pycache__'))
  writeFileSync(join(folder, '__pycache__', 'x.py'), 'x')
  await look()
  t.equal(await look(), 0)
  writeFileSync(join(folder, 'one.yaml'), 'x')
  await look()
  t.equal(await look(), 1, 'a file that is read is one')
})

t.test('nothing is watched after the end', async (t) => {
  const { end, clock } = await watching(() => [t.testdir({})])
  end()
  t.equal(clock.pending, 0)
})

t.test("a ConfigMap's swapped link is a change, and a source added by a reload is not", async (t) => {
  const folder = t.testdir({
    mount: { '..1': { 'one.yaml': 'first' }, '..2': { 'one.yaml': 'other' } },
    extra: { 'f.ts': '' },
  })
  const mount = join(folder, 'mount')
  symlinkSync('..1', join(mount, '..data'))
  symlinkSync('..data/one.yaml', join(mount, 'one.yaml'))
  let sources = [mount]
  const { look, end } = await watching(() => sources)
  symlinkSync('..2', join(mount, '..next'))
  renameSync(join(mount, '..next'), join(mount, '..data'))
  await look()
  t.equal(await look(), 1)
  sources = [mount, join(folder, 'extra')]
  await look()
  t.equal(await look(), 1)
  end()
})

t.test('configs, their gateway file, function folders and key files are all watched', async (t) => {
  const settings = {
    functions: {
      folders: ['/f'],
      memory_mb: 1024,
      timeout_s: 5,
      python: { command: 'python3', processes: 1, memory_mb: 64 },
    },
    keys: {
      a: { file: '/secret/key', scopes: ['score' as const] },
      b: { env: 'KEY', scopes: ['read' as const] },
    },
  }
  t.strictSame(sourcesOf({ configs: ['/c'], functionFolders: ['/g'] }, null), ['/c', '/g'])
  t.strictSame(sourcesOf({ configs: ['/c', '/d/one.yaml'], functionFolders: ['/g'] }, settings), [
    '/c',
    '/d/one.yaml',
    '/d/gateway.yaml',
    '/d/gateway.yml',
    '/d/gateway.json',
    '/g',
    '/f',
    '/secret/key',
  ])
})
