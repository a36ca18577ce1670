import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import serviceVerifier from '../../reward-functions/service-verifier.ts'
import { NoVerdict, serviceRequest } from '../../src/contract/index.ts'
import { judgeContract } from '../../src/contract/testing.ts'
import type { Json } from '../../src/core/sample/sample.ts'
import { checkQuestion } from '../../src/scoring/functions/worker/check-results.ts'
import { outcomesOf, resultOf, sampleOf, testGateway } from '../support/gateway.ts'
import { eachNearLinear } from '../support/hostile.ts'
import { until } from '../support/models.ts'
import { type Script, type ScriptedServer, scriptedServer } from '../support/scripted-server.ts'

const body = { response: '{response}' }
const options = { body, score: '/score' }

/** Servers with these scripts behind one service; all end with the test. */
async function service(
  t: Test,
  scripts: readonly Script[],
  rewards: Readonly<Record<string, object>>,
  {
    path = '/verify',
    idempotent = false,
    health = '',
    health_ = {},
    ...config
  }: Record<string, unknown> = {},
) {
  const servers = await Promise.all(scripts.map((script) => scriptedServer(script)))
  t.teardown(() => Promise.all(servers.map((server) => server.kill())))
  const model = {
    backend: 'service',
    instances: servers.map(({ url }) => url),
    service: { path, idempotent, health },
    health: health_,
    ...config,
  }
  const gateway = await testGateway(
    t,
    Object.fromEntries(
      Object.entries(rewards).map(([name, own]) => {
        const { step = {}, ...given } = own as { readonly step?: object }
        const one = {
          name: 's',
          function: 'service-verifier',
          model: 'it',
          options: { ...options, ...given },
          ...step,
        }
        return [name, { models: { it: model }, steps: [one] }]
      }),
    ),
  )
  return { gateway, server: servers[0] as ScriptedServer, servers }
}

const raw =
  (text: string, status = 200, headers: Record<string, string> = {}): Script =>
  (_seen, response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)

const says = (reply: unknown): Script => raw(JSON.stringify(reply))

t.test('it keeps the contract of judges', async (t) => {
  judgeContract(t, serviceVerifier, {
    options: { ...options, body: { response: '{response}', prompt: '{prompt.text}' } },
    asked: { prompt: 'What is 2 + 2?', response: '4' },
    full: { reply: { score: 1 } },
    zero: { reply: { score: 0 } },
  })
})

t.test('a hostile response or reply costs near linear time', async (t) => {
  const texts = ['response', 'response.final', 'response.code?', 'messages', 'responses.output']
  const body = Object.fromEntries(texts.map((name) => [name, `{${name}}`]))
  const given = { body, score: '/score', map_error: { 'timed out': 0 }, reason: '/why', map: { yes: 1 } }
  const parsed = serviceVerifier.options.parse(given)
  const lean = serviceVerifier.options.parse({ ...given, map: {}, read: 'lean' })
  const asked = (text: string) =>
    ({ sample: sampleOf(`${text}\n\`\`\`\n${text}`), options: parsed, truth: null, earlier: {} }) as const
  const read = (reply: Json, options = parsed) => {
    try {
      serviceVerifier.rm_postprocess?.({ reply }, { ...asked(''), options })
    } catch (error) {
      if (!(error instanceof NoVerdict)) throw error
    }
  }
  eachNearLinear(t, {
    'a response': (text) => serviceVerifier.rm_preprocess(asked(text)),
    'an error': (text) => read({ error: text }),
    'a score': (text) => read({ score: text, why: text }),
    'a proof': (text) =>
      read({ score: { messages: Array(20).fill({ severity: 'info', data: text }), sorries: [text] } }, lean),
  })
})

t.test('a service is posted the body with the values of the row, and its score is the reward', async (t) => {
  const { gateway, server } = await service(t, [says({ score: 0.25, parts: { style: 1 }, why: 'short' })], {
    all: {
      body: {
        typed: '{extra./tests}',
        first: '{extra./tests/0/in}',
        escaped: '{extra./a~1b}',
        sentence: 'id {id}: {response} ({{literal}})',
        truth: '{ground_truth}',
        missing: '{extra./no?}',
        question: '{question}',
        final: '{response.final}',
        code: '{response.code}',
        messages: '{messages}',
        fixed: [1, true, null, { deep: '{data_source}' }],
      },
      parts: { style: '/parts/style' },
      reason: '/why',
    },
  })
  const response = '<think>hm</think>The answer:\n```lean4\nby simp\n```'
  const sample = sampleOf(response, {
    id: 'row 1',
    prompt: [{ role: 'user', content: 'Prove it' }],
    groundTruth: { answer: 4 },
    dataSource: 'mine',
    extraInfo: { tests: [{ in: 1 }], 'a/b': 'slash' },
  })
  const [outcome] = await outcomesOf(gateway, 'all', [sample])
  t.match(outcome, {
    valid: true,
    reward: 0.25,
    terms: [{ score: { value: 0.25, parts: { style: 1 }, details: { reason: 'short' } } }],
  })
  t.match(server.seen[0], { path: '/verify', headers: { 'content-type': 'application/json' } })
  t.strictSame(server.seen[0]?.body, {
    typed: [{ in: 1 }],
    first: 1,
    escaped: 'slash',
    sentence: `id row 1: ${response} ({literal})`,
    truth: { answer: 4 },
    missing: null,
    question: 'Prove it',
    final: 'The answer:\n```lean4\nby simp\n```',
    code: 'by simp\n',
    messages: [
      { role: 'user', content: 'Prove it' },
      { role: 'assistant', content: response },
    ],
    fixed: [1, true, null, { deep: 'mine' }],
  })
})

/** What services answer in place of the promised reply, and the failure that it is. */
const broken: readonly (readonly [what: string, script: Script, kind: string])[] = [
  ['NaN as Python writes it', raw('{"score": NaN}'), 'judge_unreachable'],
  ['Infinity as Python writes it', raw('{"score": Infinity}'), 'judge_unreachable'],
  ['a number beyond doubles', raw('{"score": 1e999}'), 'judge_out_of_range'],
  ['an endless number', raw(`{"score": 1${'0'.repeat(400)}}`), 'judge_out_of_range'],
  ['a number as text', says({ score: '1' }), 'judge_unparseable'],
  ['a truth value', says({ score: true }), 'judge_unparseable'],
  ['null', says({ score: null }), 'judge_unparseable'],
  ['a list', says({ score: [1] }), 'judge_unparseable'],
  ['an object', says({ score: { value: 1 } }), 'judge_unparseable'],
  ['another name', says({ reward: 1 }), 'judge_unparseable'],
  ['a text alone', says('1'), 'judge_unparseable'],
  ['a number alone', says(1), 'judge_unparseable'],
  ['null alone', says(null), 'judge_unparseable'],
  ['above the range', says({ score: 1.0000001 }), 'judge_out_of_range'],
  ['below the range', says({ score: -1 }), 'judge_out_of_range'],
  ['200 with an error', says({ score: 1, error: 'out of memory' }), 'judge_rejected'],
  ['200 with an error as an object', says({ score: 1, error: { code: 1 } }), 'judge_rejected'],
  ['HTML', raw('<html>1</html>'), 'judge_unreachable'],
  ['truncated JSON', raw('{"score": 1'), 'judge_unreachable'],
  ['nothing', raw(''), 'judge_unreachable'],
  ['two scores', raw('{"score": 0, "score": 1}'), 'judge_unreachable'],
  ['two scores, one of them escaped', raw('{"score": 0, "\\u0073core": 1}'), 'judge_unreachable'],
  ['a redirect', raw('{"score": 1}', 307, { location: 'http://127.0.0.1:9/verify' }), 'judge_unreachable'],
  ['201', raw('{"score": 1}', 201), 'judge_unreachable'],
  ['204', raw('', 204), 'judge_unreachable'],
  ['400', raw('{"score": 1}', 400), 'judge_rejected'],
  ['422 that repeats the sample', raw('{"detail": "maximum context length"}', 422), 'judge_rejected'],
  ['404', raw('{"score": 1}', 404), 'judge_rejected'],
  ['401', raw('{"score": 1}', 401), 'judge_rejected'],
  ['408', raw('{"score": 1}', 408), 'judge_timeout'],
  ['409', raw('{"score": 1}', 409), 'judge_rejected'],
  ['500', raw('{"score": 1}', 500), 'judge_unreachable'],
  ['501', raw('{"score": 1}', 501), 'judge_rejected'],
  ['502', raw('{"score": 1}', 502), 'judge_unreachable'],
  ['504', raw('{"score": 1}', 504), 'judge_unreachable'],
  ['429', raw('{"score": 1}', 429), 'overloaded'],
  ['503', raw('{"score": 1}', 503), 'overloaded'],
  ['a huge body', says({ score: 1, text: 'x'.repeat(20_000) }), 'judge_rejected'],
  ['a reply of very many values', says({ score: 1, all: Array(60_000).fill('') }), 'judge_rejected'],
  [
    'JSON of 600 lists in each other',
    raw(`{"score": 1, "x": ${'['.repeat(600)}${']'.repeat(600)}}`),
    'judge_unreachable',
  ],
  ['deep JSON', raw(`{"score": 1, "x": ${'['.repeat(8000)}${']'.repeat(8000)}}`), 'judge_unreachable'],
  ['a cut connection', (_seen, response) => void response.destroy(), 'judge_unreachable'],
]

t.test('a reply that is not the promised one is a failure by name, never a number', async (t) => {
  let script: Script = says({ score: 1 })
  const { gateway } = await service(
    t,
    [(seen, response) => script(seen, response)],
    { one: {} },
    {
      max_reply_bytes: 16_384,
      breaker: { failures: 1000 },
      retry: { max: 0 },
    },
  )
  t.equal(resultOf((await outcomesOf(gateway, 'one', [sampleOf('fine')]))[0]), 1, 'the promised reply')
  for (const [what, broke, kind] of broken) {
    script = broke
    const [outcome] = await outcomesOf(gateway, 'one', [sampleOf(what)])
    t.equal(resultOf(outcome), kind, what)
    t.notMatch(JSON.stringify(outcome), /maximum context|out of memory/, `${what}: nothing is quoted`)
  }
})

t.test('a failure names the place of the reply and the option, and quotes no reply', async (t) => {
  let reply: unknown
  const { gateway } = await service(t, [(seen, response) => says(reply)(seen, response)], { one: {} })
  const cases: readonly (readonly [reply: unknown, detail: RegExp])[] = [
    [{ score: 77 }, /^the score at \/score is outside the step's range of 0 to 1$/],
    [
      { score: 'PASSED' },
      /^the reply has no score at \/score, but a text, which the option map does not have$/,
    ],
    [{ score: true }, /but true or false, which the option map does not have$/],
    [{ score: { secret: 1 } }, /but an object$/],
    [{ secret: 1 }, /but nothing$/],
  ]
  for (const [given, detail] of cases) {
    reply = given
    const [outcome] = await outcomesOf(gateway, 'one', [sampleOf(JSON.stringify(given))])
    t.match(outcome, { valid: false, failure: { detail } }, String(detail))
    t.notMatch(JSON.stringify(outcome?.terms), /77|PASSED|secret/)
  }
})

t.test('a slow body ends with the time of the call', async (t) => {
  const drip: Script = (_seen, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{"score":')
  }
  const { gateway } = await service(t, [drip], { one: {} }, { timeout_s: 0.2, retry: { max: 0 } })
  t.equal(resultOf((await outcomesOf(gateway, 'one', [sampleOf('x')]))[0]), 'judge_timeout')
})

t.test('a function of your own asks a service, and says why a reply is no verdict', async (t) => {
  let reply: unknown
  const { gateway, server } = await service(t, [(seen, response) => says(reply)(seen, response)], {
    own: { step: { function: 'test-counter', options: {} } },
  })
  const result = async (given: unknown) => {
    reply = given
    return (await outcomesOf(gateway, 'own', [sampleOf(JSON.stringify(given))]))[0]
  }
  t.match(await result({ passed: 1, total: 4 }), { valid: true, reward: 0.25 })
  t.strictSame(server.seen[0]?.body, { kind: 'prompt', labels: [], question: '{"passed":1,"total":4}' })
  const failure = { kind: 'judge_unparseable', detail: 'the reply does not count its tests' }
  t.match(await result({ passed: 1 }), { valid: false, failure })
  t.match(await result({ passed: 5, total: 4 }), { valid: false, failure: { kind: 'judge_out_of_range' } })
})

t.test("the page's config for Open-Instruct's code server scores as its replies say", async (t) => {
  const page = readFileSync('docs/services.md', 'utf8')
  const [, text = ''] = /^```yaml open-instruct\.yaml\n([\s\S]*?)^```$/m.exec(page) ?? []
  let results: unknown
  const server = await scriptedServer((seen, response) => says({ results, runtimes: [] })(seen, response))
  t.teardown(() => server.kill())
  const config = parse(text.replace('http://127.0.0.1:1234', server.url))
  const gateway = await testGateway(t, { it: config })
  const tests = ['assert add(1, 2) == 3', 'assert add(0, 0) == 1']
  let asked = 0
  const scored = async (given: unknown) => {
    results = given
    const response = `Here:\n\`\`\`python\ndef add(a, b): return a + b # ${asked++}\n\`\`\``
    return resultOf((await outcomesOf(gateway, 'it', [sampleOf(response, { groundTruth: tests })]))[0])
  }
  t.equal(await scored([1, 0]), 0.5)
  t.match(server.seen[0], {
    path: '/test_program',
    body: { program: 'def add(a, b): return a + b # 0\n', tests, max_execution_time: 1 },
  })
  t.equal(await scored([true, true]), 1)
  for (const odd of [[], null, undefined, 1, {}, ['1'], [1, null], [[1]], '11'])
    t.equal(await scored(odd), 'judge_unparseable', JSON.stringify(odd))
  t.equal(await scored([2, 0]), 'judge_out_of_range', 'no number makes up for another')
})

t.test("a service is told the request's training step, and a row without one lacks it", async (t) => {
  const { gateway, server } = await service(t, [says({ score: 1 })], {
    needs: { body: { r: '{response}', step: '{training_step}' } },
    may: { body: { r: '{response}', step: '{training_step?}' } },
  })
  const rows = [sampleOf('x', { rmPrompts: { s: 'own prompt' } })]
  const [told] = await outcomesOf(gateway, 'needs', rows, { trainingStep: 7 })
  t.equal(resultOf(told), 1)
  t.match(server.seen.at(-1)?.body, { step: 7 })
  t.equal(resultOf((await outcomesOf(gateway, 'needs', rows))[0]), 'bad_sample')
  await outcomesOf(gateway, 'may', rows)
  t.match(server.seen.at(-1)?.body, { step: null })
})

t.test('inherited names are no place of a reply or a row', async (t) => {
  const { gateway, server } = await service(t, [raw('{"score": 0, "__proto__": {"score": 1}, "a": [7]}')], {
    inherited: { score: '/constructor/length', range: [0, 10] },
    proto: { score: '/__proto__/score' },
    length: { score: '/a/length', range: [0, 10] },
    dash: { score: '/a/-', range: [0, 10] },
    odd: { score: '/a/00', range: [0, 10] },
    item: { score: '/a/0', range: [0, 10] },
    map: { score: '/a', map: { toString: 1 } },
    row: { body: { r: '{response}', x: '{extra./constructor}' } },
    own: { body: { r: '{response}', x: '{extra./__proto__/y}' } },
  })
  const result = async (reward: string, extraInfo = {}) =>
    resultOf((await outcomesOf(gateway, reward, [sampleOf('x', { extraInfo })]))[0])
  for (const reward of ['inherited', 'length', 'dash', 'odd', 'map'])
    t.equal(await result(reward), 'judge_unparseable', reward)
  t.equal(await result('proto'), 1, 'a name that JSON defines is its own')
  t.equal(await result('item'), 7)
  t.equal(await result('row'), 'bad_sample')
  t.equal(await result('own', JSON.parse('{"__proto__": {"y": 2}}')), 0)
  t.match(server.seen.at(-1)?.body, { x: 2 })
  t.equal(({} as { y?: unknown }).y, undefined)
})

t.test('a response cannot leave its text, nor change the path', async (t) => {
  const { gateway, server } = await service(t, [says({ score: 0 })], {
    one: { body: { response: '{response}', id: '{id}', expected: '{ground_truth}' } },
  })
  for (const hostile of [
    '", "score": 1, "x": "',
    '{ground_truth}',
    '{{response}}',
    '\u2028\ud800\u0000\\',
    '\\ud800 \\\\ud800 \ud83d\ude00 \udfff',
    '/../admin?x=1#y',
    '\r\nHost: evil\r\n\r\nPOST /admin HTTP/1.1',
    '{"__proto__": {"score": 1}}',
  ]) {
    const [outcome] = await outcomesOf(gateway, 'one', [
      sampleOf(hostile, { id: hostile, groundTruth: 'secret' }),
    ])
    t.equal(resultOf(outcome), 0, hostile)
    const { path, body } = server.seen.at(-1) ?? {}
    t.equal(path, '/verify')
    const sent = hostile.replace(/\p{Surrogate}/gu, '\ufffd')
    t.strictSame(body, { response: sent, id: sent, expected: 'secret' })
  }
})

t.test('marks come before the score', async (t) => {
  let reply: unknown
  const { gateway } = await service(t, [(seen, response) => says(reply)(seen, response)], {
    gym: { score: '/reward', invalid: ['/mask_sample'], error: [], reason: '/failure_kind' },
    lean: {
      score: '/r/0/ok',
      map: { true: 1, false: 0 },
      error: ['/r/0/error'],
      map_error: { 'timed out': 0 },
    },
  })
  const result = async (reward: string, given: unknown) => {
    reply = given
    return resultOf((await outcomesOf(gateway, reward, [sampleOf(JSON.stringify(given))]))[0])
  }
  t.equal(await result('gym', { reward: 1, mask_sample: false, failure_kind: 'judge_failed' }), 1)
  t.equal(await result('gym', { reward: 1, mask_sample: null }), 1)
  t.equal(await result('gym', { reward: 1 }), 1)
  t.equal(
    await result('gym', { reward: 0, mask_sample: true, failure_kind: 'judge_failed' }),
    'judge_rejected',
  )
  t.equal(await result('gym', { reward: 1, mask_sample: 0 }), 'judge_rejected', 'an odd mark is one')
  t.equal(await result('lean', { r: [{ ok: true, error: null }] }), 1)
  t.equal(await result('lean', { r: [{ ok: false, error: '' }] }), 0)
  t.equal(
    await result('lean', { r: [{ error: 'Lean timed out in 60 seconds' }] }),
    0,
    "the proof's own fault",
  )
  t.equal(await result('lean', { r: [{ ok: true, error: 'no REPL' }] }), 'judge_rejected')
  t.equal(await result('lean', { r: [{ ok: true, error: ['timed out'] }] }), 'judge_rejected')
  t.equal(await result('lean', { r: [] }), 'judge_unparseable')
})

t.test('a reply is held to the schema', async (t) => {
  let reply: unknown
  const results = { type: 'array', minItems: 1, maxItems: 1, items: { properties: { id: { const: 'a' } } } }
  const { gateway } = await service(t, [(seen, response) => says(reply)(seen, response)], {
    one: { score: '/results/0/score', schema: { properties: { results } } },
  })
  const result = async (given: unknown) => {
    reply = given
    return resultOf((await outcomesOf(gateway, 'one', [sampleOf(JSON.stringify(given))]))[0])
  }
  t.equal(await result({ results: [{ id: 'a', score: 1 }] }), 1)
  t.equal(await result({ results: [{ id: 'b', score: 1 }] }), 'judge_unparseable', "another row's result")
  t.equal(
    await result({
      results: [
        { id: 'a', score: 1 },
        { id: 'a', score: 0 },
      ],
    }),
    'judge_unparseable',
  )
})

t.test('a proof counts if Lean reports neither errors nor gaps', async (t) => {
  let reply: unknown
  const { gateway } = await service(t, [(seen, response) => says(reply)(seen, response)], {
    lean: { score: '/response', read: 'lean', body: { code: '{response.code}' } },
  })
  const proof = '```lean4\nby simp\n```'
  const result = async (response: unknown, text = `${JSON.stringify(response)}\n${proof}`) => {
    reply = { response }
    return resultOf((await outcomesOf(gateway, 'lean', [sampleOf(text)]))[0])
  }
  const said = (severity: string, data = 'x') => ({ env: 0, messages: [{ severity, data, pos: {} }] })
  t.equal(await result({ env: 0 }), 1)
  t.equal(await result({ env: 0, messages: null, sorries: null, time: 0.1 }), 1)
  t.equal(await result(said('warning', 'unused variable')), 1)
  t.equal(await result(said('error')), 0)
  t.equal(await result({ env: 0, sorries: [{ goal: '⊢ False' }] }), 0)
  t.equal(await result(said('warning', "declaration uses 'sorry'")), 0, 'sorryAx is in no list of sorries')
  t.equal(await result(said('warning', 'declaration uses `sorry`')), 0)
  t.equal(await result(said('fatal')), 'judge_unparseable')
  t.equal(await result({ message: 'Unknown environment.' }), 'judge_unparseable', 'the REPL failed')
  t.equal(await result({ env: 0, messages: 'none' }), 'judge_unparseable')
  t.equal(await result(null), 'judge_unparseable')
  t.equal(await result({ env: 0 }, 'no proof'), 0, 'no code: no call')
})

t.test('a request that a service may have received is not sent again, unless it is idempotent', async (t) => {
  const dies: Script = (_seen, response) => void response.destroy()
  const busy = raw('', 503)
  const good = says({ score: 1 })
  const calls = async (scripts: readonly Script[], config: object) => {
    const { gateway, servers } = await service(
      t,
      scripts,
      { one: {} },
      {
        wait_for_instance: 0,
        retry: { max: 3, budget: 1, pause_ms: 0 },
        ...config,
      },
    )
    const outcomes: unknown[] = []
    for (let at = 0; at < 8; at += 1)
      outcomes.push(resultOf((await outcomesOf(gateway, 'one', [sampleOf(`${at}`)]))[0]))
    return { outcomes, seen: servers.reduce((sum, { seen }) => sum + seen.length, 0) }
  }
  const breaker = { failures: 1000 }
  const once = await calls([dies, good], { breaker })
  t.equal(once.seen, 8, 'each is sent once')
  t.ok(once.outcomes.includes('judge_unreachable'))
  const repeated = await calls([dies, good], { idempotent: true, breaker })
  t.strictSame(repeated.outcomes, Array(8).fill(1))
  const refused = await calls([busy, good], { breaker })
  t.strictSame(refused.outcomes, Array(8).fill(1), 'what was refused is sent elsewhere')
})

t.test('equal requests to an idempotent service are answered once', async (t) => {
  for (const [idempotent, count] of [
    [true, 1],
    [false, 2],
  ] as const) {
    const { gateway, server } = await service(t, [says({ score: 1 })], { one: {} }, { idempotent })
    for (let at = 0; at < 2; at += 1) await outcomesOf(gateway, 'one', [sampleOf('same')])
    t.equal(server.seen.length, count)
  }
})

t.test('a server whose health fails gets no requests', async (t) => {
  const { gateway, servers } = await service(
    t,
    [says({ score: 0 }), says({ score: 1 })],
    { one: {} },
    { health: '/health', health_: { interval_s: 0.05, failures: 1 } },
  )
  const [sick] = servers
  if (sick) sick.healthy = false
  await until(() => gateway.models()[0]?.instances[0]?.state === 'ejected')
  const rows = Array.from({ length: 8 }, (_, at) => sampleOf(`${at}`))
  t.strictSame((await outcomesOf(gateway, 'one', rows)).map(resultOf), Array(8).fill(1))
})

t.test('responses that make a service fail keep it out until its next good health, no longer', async (t) => {
  const script: Script = (seen, response) =>
    String(seen.body.response).startsWith('crash') ? raw('{}', 500)(seen, response) : { score: 1 }
  const health = { health: '/health', health_: { interval_s: 0.05 } }
  const slow = { max_in_flight: 2, retry: { max: 0 }, breaker: { failures: 2, open_s: 600 } }
  const { gateway } = await service(t, [script], { one: {} }, { ...health, ...slow })
  const rows = Array.from({ length: 24 }, (_, at) => sampleOf(at % 4 === 0 ? `fine ${at}` : `crash ${at}`))
  t.strictSame(
    (await outcomesOf(gateway, 'one', rows)).map(resultOf),
    rows.map(({ response }) => (response.startsWith('crash') ? 'judge_unreachable' : 1)),
  )
  const unknown = await service(t, [raw('{}', 500)], { one: {} }, { ...slow, wait_for_instance: 0.2 })
  const lost = Array.from({ length: 8 }, (_, at) => sampleOf(`${at}`))
  t.strictSame(
    (await outcomesOf(unknown.gateway, 'one', lost)).map(resultOf),
    Array(8).fill('judge_unreachable'),
  )
  t.ok(unknown.server.seen.length <= 4, 'without a health to ask, it stays out')
})

t.test('mistakes of a service are found when the configs are read', async (t) => {
  const service = { path: '/v' }
  const cases: readonly (readonly [RegExp | null, own?: object, model?: object, step?: object])[] = [
    [null],
    [/nothing of the answer/, { body: { x: '{id}' } }],
    [/there is no answr/, { body: { x: '{answr}' } }],
    [/there is no constructor/, { body: { x: '{constructor}{response}' } }],
    [/is no placeholder/, { body: { x: '{response' } }],
    [/is a text/, { body: { x: '{response./a}' } }],
    [/'?\{response\}'? stands in a key/, { body: { '{response}': '{response}' } }],
    [/\{extra\.\/a\?\} stands in a key/, { body: { x: [{ 'a {extra./a?}': 1 }], y: '{response}' } }],
    [null, { body: { 'set {x}': '{response}' } }],
    [/has no params.*\{extra\.\/params\}/, { body: { x: '{response}', y: '{params}' } }],
    [/goes with `read: number`/, { read: 'mean', map: { yes: 1 } }],
    [/JSON Pointer/, { score: 'score' }],
    [/JSON Pointer/, { score: '/a~2' }],
    [/outside the range/, { map: { yes: 2 } }],
    [/comes first/, { range: [1, 0] }],
    [/needs 0 and 1/, { range: [0, 0.5], read: 'lean' }],
    [/schema/, { schema: { type: 'nonsense' } }],
    [/a path such as/, {}, { service: { path: '/{id}' } }],
    [/a path such as/, {}, { service: { path: '//evil' } }],
    [/a path such as/, {}, { service: { path: 'http://evil/' } }],
    [/a path such as/, {}, { service: { path: '/v HTTP/1.1' } }],
    [/service: is missing/, {}, { service: undefined }],
    [/no use for it/, {}, { sampling: { temperature: 1 } }],
    [/idempotent/, {}, { hedge: { budget: 0.1 } }],
    [/idempotent/, {}, { cache: 'always' }],
    [/backend: service/, {}, { backend: 'vllm', model: 'm' }],
    [/model: is missing/, {}, { backend: 'vllm', service: undefined }],
    [/never a number/, {}, {}, { on_unreadable: 0 }],
    [/cannot answer/, {}, { backend: 'vllm', model: 'm', service: undefined }],
  ]
  const rewards = cases.map(([_message, own = {}, more = {}, step = {}], at) => {
    const model = { backend: 'service', instances: [`http://127.0.0.1:${at + 1}`], service, ...more }
    const one = {
      name: 's',
      function: 'service-verifier',
      model: `it-${at}`,
      options: { ...options, ...own },
    }
    return [`r${at}`, { models: { [`it-${at}`]: model }, steps: [{ ...one, ...step }] }] as const
  })
  const { problems } = await testGateway(t, Object.fromEntries(rewards)).then(
    () => ({ problems: [] }),
    (error: { problems: readonly { path: string; message: string }[] }) => error,
  )
  for (const [at, [message, ...of]] of cases.entries()) {
    const own = problems.filter(({ path }) => path.startsWith(`r${at}.json`))
    const told = own.map(({ path, message }) => `${path.split(' ').at(-1)}: ${message}`).join('; ')
    if (message === null) t.equal(told, '')
    else t.match(told, message, JSON.stringify(of))
  }
})

const batched = {
  body: { codes: [{ custom_id: '{id}', proof: '{response}' }], task: '{data_source?}' },
  batch: { items: '/codes', reply: '/results', key: 'custom_id' },
  score: '/results/0/score',
  error: ['/error', '/results/0/error'],
}
interface Entry {
  readonly custom_id?: unknown
  readonly proof: string
}
const entriesOf = ({ body }: { readonly body: { readonly codes: readonly Entry[] } }) => body.codes
/** Each row's own score is the number that its response is. */
const scored = (seen: Parameters<typeof entriesOf>[0]) =>
  entriesOf(seen).map(({ custom_id, proof }) => ({ custom_id, score: Number(proof) / 10 }))
const resultsOf = async (
  { gateway }: Pick<Awaited<ReturnType<typeof service>>, 'gateway'>,
  responses: readonly string[],
  parts: (at: number) => object = () => ({ id: 'same' }),
) =>
  (
    await outcomesOf(
      gateway,
      'it',
      responses.map((text, at) => sampleOf(text, parts(at))),
    )
  ).map(resultOf)

t.test('rows share a request, and each gets the score of its own entry', async (t) => {
  const it = await service(t, [(seen) => ({ results: scored(seen).reverse() })], { it: batched })
  t.strictSame(await resultsOf(it, ['1', '2', '3', '4']), [0.1, 0.2, 0.3, 0.4], 'equal ids are told apart')
  t.equal(it.server.seen.length, 1)
  t.strictSame(
    entriesOf(it.server.seen[0] as never).map(({ custom_id }) => custom_id),
    ['0', '1', '2', '3'],
  )
  const named = (at: number) => ({ id: `${at}`, dataSource: at % 2 === 0 ? 'even' : 'odd' })
  t.strictSame(await resultsOf(it, ['5', '6', '7', '8'], named), [0.5, 0.6, 0.7, 0.8])
  const byTask = it.server.seen.slice(1).map(({ body }) => `${body.task} ${body.codes.length}`)
  // Rows wait for each other for at most 2 ms, which a busy machine may miss.
  for (const task of ['even', 'odd'])
    t.match(
      byTask.filter((one) => one.startsWith(task)).join(),
      new RegExp(`^${task} 2$|^${task} 1,${task} 1$`),
      'only bodies that are equal but for the entry share a request',
    )
  t.strictSame(await resultsOf(it, ['9']), [0.9])
  t.equal(it.server.seen.at(-1)?.body.codes[0].custom_id, 'same', 'alone, a row keeps its own key')
  const long = ' '.repeat(40_000)
  const earlier = it.server.seen.length
  t.strictSame(await resultsOf(it, [`1${long}`, '2', `3${long}`, '4']), [0.1, 0.2, 0.3, 0.4])
  const sent = it.server.seen
    .slice(earlier)
    .map(({ body }) => body.codes as readonly { readonly proof: string }[])
  const withLong = sent.filter((codes) => codes.some(({ proof }) => proof.length > 1000))
  t.strictSame(
    withLong.map(({ length }) => length),
    [1, 1],
    'long rows are sent alone',
  )
})

t.test('a request has at most `max` rows; without a key, entries are matched by order', async (t) => {
  const { key: _key, ...byOrder } = batched.batch
  const it = await service(t, [(seen) => ({ results: scored(seen) })], {
    it: { ...batched, batch: { ...byOrder, max: 2 } },
  })
  t.strictSame(await resultsOf(it, ['1', '2', '3', '4', '5']), [0.1, 0.2, 0.3, 0.4, 0.5])
  t.strictSame(it.server.seen.map(({ body }) => body.codes.map(({ custom_id }: Entry) => custom_id)).sort(), [
    ['same'],
    ['same', 'same'],
    ['same', 'same'],
  ])
})

t.test('one bad entry of a shared reply fails only its own row', async (t) => {
  const script: Script = (seen) => ({
    results: scored(seen).map((entry, at) => {
      if (at === 1) return { ...entry, error: 'no REPL' }
      if (at === 2) return { ...entry, score: 'high' }
      if (at === 3) return { ...entry, score: 7 }
      return at === 4 ? { score: 1 } : entry
    }),
  })
  const it = await service(t, [script], { it: batched })
  const wanted = [0.1, 'judge_rejected', 'judge_unparseable', 'judge_out_of_range', 'judge_unreachable', 0.6]
  t.strictSame(await resultsOf(it, ['1', '2', '3', '4', '5', '6']), wanted)
  t.equal(it.server.seen.length, 1, 'nothing is sent again to a service that is not idempotent')
})

t.test(
  'a shared reply whose entries are not certain fails all of its rows, never with a shifted score',
  async (t) => {
    const replies: readonly [string, (entries: readonly object[]) => unknown][] = [
      ['an entry too few', (entries) => ({ results: entries.slice(1) })],
      ['an entry too many', (entries) => ({ results: [...entries, entries[0]] })],
      ['a key twice', (entries) => ({ results: entries.map((entry) => ({ ...entry, custom_id: '0' })) })],
      ['no list', () => ({ results: { score: 1 } })],
      ['no place', () => ({ score: 1 })],
      ['no JSON', () => undefined],
      ['megabytes beside the list', (entries) => ({ results: entries, echo: 'x'.repeat(20_000) })],
    ]
    const it = await service(t, [() => ({})], { it: batched }, { breaker: { failures: 1000 } })
    for (const [name, reply] of replies) {
      it.server.script = (seen, response) => reply(scored(seen)) ?? void response.writeHead(200).end('{')
      const before = it.server.seen.length
      t.strictSame(await resultsOf(it, ['1', '2', '3']), Array(3).fill('judge_unreachable'), name)
      const sent = it.server.seen.slice(before).flatMap((seen) => entriesOf(seen as never))
      t.strictSame(sent.map(({ proof }) => proof).sort(), ['1', '2', '3'], `${name}: each row is sent once`)
    }
    it.server.script = (seen) => ({ error: 'busy', results: scored(seen) })
    t.strictSame(await resultsOf(it, ['1', '2']), ['judge_rejected', 'judge_rejected'], 'an error for all')
  },
)

t.test('a row that is sent alone gets no reply to another', async (t) => {
  const it = await service(
    t,
    [(seen) => ({ results: scored(seen) })],
    { it: batched },
    { breaker: { failures: 1000 } },
  )
  const long = ' '.repeat(40_000)
  for (const response of ['4', `4${long}`]) {
    it.server.script = (seen) => ({ results: scored(seen) })
    t.strictSame(await resultsOf(it, [response]), [0.4])
    for (const change of [{ custom_id: 'other' }, { custom_id: null }, { custom_id: ['same'] }]) {
      it.server.script = (seen) => ({ results: scored(seen).map((entry) => ({ ...entry, ...change })) })
      t.strictSame(await resultsOf(it, [response]), ['judge_unreachable'], JSON.stringify(change))
    }
  }
})

t.test('the rows of a refused request are asked about alone, if the service is idempotent', async (t) => {
  const script: Script = (seen, response) =>
    entriesOf(seen as never).some(({ proof }) => proof === 'bad')
      ? void response.writeHead(422, { 'content-type': 'application/json' }).end('{}')
      : { results: scored(seen as never) }
  const repeats = await service(t, [script], { it: batched }, { idempotent: true })
  t.strictSame(await resultsOf(repeats, ['1', 'bad', '3', '4']), [0.1, 'judge_rejected', 0.3, 0.4])
  const once = await service(t, [script], { it: batched })
  t.strictSame(await resultsOf(once, ['1', 'bad', '3', '4']), Array(4).fill('judge_rejected'))
  t.equal(once.server.seen.length, 1)
})

t.test('what a response holds cannot leave its entry, nor take the key of another', async (t) => {
  const it = await service(t, [(seen) => ({ results: scored(seen) })], {
    it: {
      ...batched,
      body: { codes: [{ custom_id: '{id}', proof: '{response}', more: '{extra}' }] },
    },
  })
  const extraInfo = JSON.parse('{"__proto__": {"custom_id": "1"}, "custom_id": "1"}')
  const hostile = ['"}], "codes": [{"proof": "9"', '2']
  t.strictSame(await resultsOf(it, hostile, () => ({ id: '1', extraInfo })), ['judge_unparseable', 0.2])
  t.equal(it.server.seen[0]?.body.codes[0].proof, hostile[0])
  t.ok(Object.hasOwn(it.server.seen[0]?.body.codes[0].more, '__proto__'), 'every name arrives')
})

t.test('a batch whose scores would be shared is a mistake of the config', async (t) => {
  const refused = (change: object, message: RegExp) =>
    t.throws(() => serviceVerifier.options.parse({ ...batched, ...change }), { message })
  refused({ score: '/score' }, /outside of a row's own entry of the reply, which begins with \/results\/0/)
  refused({ score: '/results/1/score' }, /outside/)
  refused({ score: '/results/01' }, /outside/)
  refused({ parts: { mean: '/mean' } }, /outside/)
  refused({ batch: { ...batched.batch, items: '/proofs' } }, /no list of one object/)
  refused({ body: { codes: ['{response}'] } }, /no list of one object/)
  refused({ body: { codes: [{ p: '{response}' }, { p: 'x' }] } }, /no list of one object/)
  refused({ batch: { ...batched.batch, max: 1 } }, />=2/)
})

t.test('a function of your own may let its requests share one, and must say how', async (t) => {
  const batch = { items: '/codes', reply: '', key: 'id', max: 8 }
  const request = serviceRequest({ codes: [{ id: 1, code: 'x' }] }, batch)
  t.strictSame(checkQuestion('service', request), request)
  const wrong: [object | null, RegExp][] = [
    [null, /JSON Pointers/],
    [{ ...batch, items: '' }, /JSON Pointers/],
    [{ ...batch, reply: 'results' }, /JSON Pointers/],
    [{ ...batch, key: '' }, /no name/],
    [{ ...batch, max: 1 }, /how many/],
    [{ ...batch, max: 257 }, /how many/],
  ]
  for (const [given, message] of wrong)
    t.throws(() => checkQuestion('service', { ...request, batch: given }), { message }, JSON.stringify(given))
})
