import t from 'tap'
import type { AskName, Asks } from '../../../src/contract/index.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { answerCache } from '../../../src/scoring/models/dispatch/answer-cache.ts'
import type { AskRequest } from '../../../src/scoring/models/interface/ask.ts'
import { fakeClock } from '../../support/clock.ts'
import { configOf, failureOf, judge, question, until } from '../../support/models.ts'
import { completion, json, type Script } from '../../support/scripted-server.ts'

const yes: Script = (seen) => completion(seen, 'Yes')
const broken: Script = (_seen, response) => json(response, {}, 500)

t.test('a call is aborted when its last caller has left, not before', async (t) => {
  const held: (() => void)[] = []
  const { ask, server } = await judge(t, [
    (seen, response) => void held.push(() => json(response, completion(seen, 'Yes'))),
  ])
  const [one, two] = [new AbortController(), new AbortController()]
  const first = failureOf(ask('q', { signal: one.signal }))
  const second = ask('q')
  await server.saw(1)
  one.abort()
  t.match(await first, { kind: 'cancelled' })
  await until(() => true)
  held.pop()?.()
  t.match(await second, { source: 'joined', answer: { text: 'Yes' } })
  const last = failureOf(ask('r', { signal: two.signal }))
  await server.saw(2)
  two.abort()
  const again = ask('r')
  await Promise.all([last, server.seen[1]?.closed, server.saw(3)])
  const joined = ask('r')
  held.pop()?.()
  t.match(await again, { source: 'call' }, 'a call that is given up is not joined')
  t.match(await joined, { source: 'joined' }, 'and ends beside the one after it')
  t.equal(server.seen.length, 3)
  t.match(await failureOf(ask('q', { signal: one.signal })), { kind: 'cancelled' })
})

t.test('equal questions share a call; other draws, settings and asks do not', async (t) => {
  const { ask, server } = await judge(t, [yes], { sampling: { temperature: 0.7 } })
  const asked = [ask('q'), ask('q'), ask('q', { draw: 1 }), ask('q', { sampling: { temperature: 0.5 } })]
  const answers = await Promise.all(asked)
  t.strictSame(
    answers.map(({ source }) => source),
    ['call', 'joined', 'call', 'call'],
  )
  t.equal(server.seen.length, 3)
  t.equal((await ask('q')).source, 'call', 'an answer that chance made is not kept')
  const replies = [{ choice: ['Yes', 'No'] }, { choice: ['Yes'] }, { regex: 'Yes' }]
  const forced = await Promise.all(replies.map((reply) => ask('r', { reply })))
  t.strictSame(
    forced.map(({ source }) => source),
    ['call', 'call', 'call'],
    'nor do those whose replies are bound to other forms',
  )
})

t.test('an answer at temperature 0 is cached; a failure is not', async (t) => {
  const { ask, server } = await judge(t, [broken], { sampling: { temperature: 0 }, retry: { max: 0 } })
  t.match(await failureOf(ask('q')), { kind: 'judge_unreachable' })
  server.script = yes
  t.equal((await ask('q')).source, 'call')
  t.match(await ask('q'), { source: 'cache', answer: { text: 'Yes' }, attempts: 0, tokens: { prompt: 7 } })
  t.equal(server.seen.length, 2)
})

t.test('the cache keeps answers as configured, for their time to live', async (t) => {
  const clock = fakeClock(1)
  const always = await judge(t, [yes], { cache: 'always' }, { clock, cache: { bytes: 1 << 20, ttlMs: 1000 } })
  await always.ask('q')
  t.equal((await always.ask('q')).source, 'cache')
  clock.advance(1001)
  t.equal((await always.ask('q')).source, 'call')
  const never = await judge(t, [yes], { cache: 'never', sampling: { temperature: 0 } })
  await never.ask('q')
  t.equal((await never.ask('q')).source, 'call')
})

t.test('the cache is bounded in bytes, and no answer evicts all others', async (t) => {
  const cache = answerCache(fakeClock(1), { bytes: 65_536, ttlMs: 1000 })
  const isKept = (key: string, answer: Asks[AskName]['answer']) => {
    cache.set(key, { answer, instance: 'a', prompt: 0, completion: 0 })
    return cache.get(key) !== undefined
  }
  const said = (text: string, more: object = {}) => ({ text, finishReason: 'stop' as const, ...more })
  t.ok(isKept('short', said('Yes')))
  t.notOk(isKept('long', said('x'.repeat(2000))))
  const top = Array.from({ length: 9 }, () => ({ token: 'a', logprob: -1 }))
  const logprobs = Array.from({ length: 9 }, () => ({ token: 'a', logprob: -1, top }))
  t.notOk(isKept('logprobs', said('Yes', { logprobs })))
  t.notOk(isKept('embedding', [Array<number>(1000).fill(0)]))
  t.ok(isKept('number', 0.5) && isKept('labels', { A: 1, B: 0 }) && cache.get('short'))
  for (let i = 0; i < 1000; i += 1) isKept(`${i}`, said('Yes'))
  t.ok(cache.get('999') && !cache.get('short'), 'the oldest have gone')
  t.ok(cache.bytes > 32_768 && cache.bytes <= 65_536, `${cache.bytes}`)
})

t.test('a cached answer', async (t) => {
  const numbers: Script = () => ({
    model: 'm',
    data: [{ index: 0, probs: [0.25, 0.75], data: [[0.25, 0.75]] }],
  })
  const { models, server } = await judge(t, [numbers])
  const asked = async (ask: AskName, more: object) => {
    const other = models.next({
      judge: configOf([server.url], { batch: { max_size: 1 }, retry: { max: 0 }, ...more }),
    })
    t.teardown(() => other.close())
    const input = ask === 'choose' ? { question: [{ role: 'user', content: 'q' }], labels: ['A', 'B'] } : 'q'
    const { answer, source } = await other.ask({
      ...question('q', systemClock.now() + 60_000),
      ask,
      input,
    } as AskRequest)
    return [answer, source]
  }

  await t.test('survives a reload', async (t) => {
    const first = { classify: { label: 0 } }
    t.strictSame(await asked('classify', first), [0.25, 'call'])
    t.strictSame(await asked('classify', first), [0.25, 'cache'])
  })

  await t.test('is not that of another label, column or revision', async (t) => {
    const second = { classify: { label: 1 } }
    t.strictSame(await asked('classify', second), [0.75, 'call'])
    t.strictSame(await asked('classify', { ...second, revision: 'b' }), [0.75, 'call'])
    t.strictSame(await asked('rewards', { rewards: { column: 0 } }), [[0.25], 'call'])
    t.strictSame(await asked('rewards', { rewards: { column: 1 } }), [[0.75], 'call'])
  })

  await t.test('is not that of another endpoint', async (t) => {
    const said = { token: 'A', logprob: Math.log(0.999) }
    const logprobs = { content: [{ ...said, top_logprobs: [said] }] }
    server.script = (seen) => completion(seen, 'A', { logprobs })
    t.match(await asked('choose', {}), [{ A: 1 }, 'call'])
    t.match(await asked('choose', {}), [{ A: 1 }, 'cache'])
    server.script = broken
    await t.rejects(asked('choose', { choose: { endpoint: 'generative_scoring' } }))
  })
})
