import t from 'tap'
import type { Sample } from '../../../src/core/sample/sample.ts'
import { faultKinds } from '../../../src/simulator/faults.ts'
import type { Policy } from '../../../src/simulator/policies.ts'
import { outcomesOf, resultOf, sampleOf, testGateway, testModel } from '../../support/gateway.ts'
import { kendallTau } from '../../support/kendall.ts'
import { seeded } from '../../support/seeded.ts'
import { isWithin } from '../../support/yardstick.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

/**
 * Compares or lists numbers. It errs on one pair in ten, chosen by the pair and its order. `mute` makes it
 * say nothing.
 */
const noisy: Policy = ({ candidates, text }) => {
  const numbers = candidates.map((candidate) => candidate.text)
  if (numbers.includes('mute')) return 'perhaps'
  if (text.includes('Sizes')) return numbers.join(',')
  const [a = '', b = ''] = numbers
  const errs = text.includes('Exactly') ? false : seeded(hash(`${seed} ${a} ${b}`))() < 0.1
  return Number.parseFloat(a) > Number.parseFloat(b) !== errs ? 'A' : 'B'
}

/** Always says A. */
const biased: Policy = () => 'A'

const hash = (text: string): number => [...text].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) | 0, 7)

const group = (id: string, answers: readonly string[], parts: Partial<Sample> = {}): Sample[] =>
  answers.map((answer, index) =>
    sampleOf(answer, { id: `${id}/${index}`, group: { id, index }, prompt: id, ...parts }),
  )

t.test('groups are judged by pairs and by lists', async (t) => {
  const { servers, config } = await testModel(
    t,
    2,
    { policy: noisy, maxModelLen: 400 },
    { wait_for_instance: 0.2, retry: { pause_ms: 10 } },
  )
  const other = await testModel(t, 1, { policy: biased })
  const duel = { name: 'duel', function: 'number-duel', model: 'judge', sampling: { temperature: 0 } }
  const list = { name: 'list', function: 'number-list', model: 'judge' }
  const rule = { name: 'rule', function: 'echo-rule' }
  const rank = { name: 'rank', function: 'rank-rule' }
  const models = { judge: { ...config, cache: 'never' } }
  const gateway = await testGateway(t, {
    duel: { models, steps: [duel] },
    cached: { models: { kept: { ...config, cache: 'always' } }, steps: [{ ...duel, model: 'kept' }] },
    ring: { models, steps: [{ ...duel, pairs: { scheme: 'ring', swap: false } }] },
    shaky: {
      models: { shaky: { ...config, timeout_s: 1 } },
      steps: [{ ...duel, model: 'shaky', pairs: { aggregate: 'mean_wins' } }],
    },
    tie: { models, steps: [duel] },
    voted: {
      models,
      steps: [
        {
          ...duel,
          sampling: { temperature: 1 },
          votes: { n: 3, aggregate: 'majority', early_stop: true },
          pairs: { aggregate: 'mean_wins' },
        },
      ],
    },
    wins: { models, steps: [{ ...duel, pairs: { aggregate: 'mean_wins' } }] },
    skips: { models, steps: [rank, { ...duel, on_unreadable: 'skip' }] },
    half: { models, steps: [{ ...duel, on_unreadable: 0.5, pairs: { aggregate: 'mean_wins' } }] },
    panel: {
      models: { ...models, partial: other.config },
      steps: [{ ...duel, model: ['judge', 'partial'], pairs: { aggregate: 'mean_wins' } }],
    },
    biased: { models: { partial: other.config }, steps: [{ ...duel, model: 'partial' }] },
    gated: { models, gate: 'rule == 1', steps: [rule, { ...duel, op: 'add', weight: 0.1 }] },
    list: { models, steps: [list] },
    lists: { models, steps: [{ ...list, votes: { n: 3, aggregate: 'median' }, on_unreadable: 50 }] },
    some: { models, group: { min: 2 }, steps: [duel] },
    rank: { steps: [rank] },
    rule: { steps: [rule] },
    meant: { steps: [rule], on_invalid: { group_mean: -7 } },
    expected: { models, steps: [{ ...duel, verdict: 'expected', pairs: { aggregate: 'mean_wins' } }] },
  })
  const asked = () => servers.reduce((sum, one) => sum + one.stats().sequences.finished, 0)
  const results = async (reward: string, rows: readonly Sample[]) =>
    (await outcomesOf(gateway, reward, rows)).map(resultOf)

  await t.test('order, neighbours, batches and the cache never change a reward', async (t) => {
    const random = seeded(seed)
    const rows = Array.from({ length: 3 }, (_, at) =>
      group(
        `g${at}`,
        Array.from({ length: 5 }, () => String(Math.floor(random() * 12))),
      ),
    ).flat()
    const shuffled = rows
      .map((row) => ({ row, key: random() }))
      .sort((a, b) => a.key - b.key)
      .map(({ row }) => row)
    for (const reward of ['duel', 'cached', 'ring', 'list', 'expected']) {
      const of = async (order: readonly Sample[]) => {
        const found = new Map(
          (await outcomesOf(gateway, reward, order)).map((one) => [one.id, resultOf(one)]),
        )
        return rows.map(({ id }) => found.get(id))
      }
      const expected = await of(rows)
      t.ok(
        expected.every((value) => typeof value === 'number'),
        `${reward}: ${expected}`,
      )
      t.strictSame(await of(shuffled), expected, `${reward}: shuffled`)
      const alone = []
      for (let at = 0; at < 3; at++) alone.push(...(await results(reward, rows.slice(at * 5, at * 5 + 5))))
      t.strictSame(alone, expected, `${reward}: group by group`)
      for (const [index, row] of rows.entries()) {
        const twin = rows.findIndex((one) => one.prompt === row.prompt && one.response === row.response)
        t.equal(expected[index], expected[twin], `${reward}: equal answers get equal rewards`)
      }
    }
  })

  await t.test('a judge that errs in a tenth of its replies still ranks 8 answers', async (t) => {
    const random = seeded(seed + 1)
    const worth = Array.from({ length: 4 }, () =>
      Array.from({ length: 8 }, () => String(Math.floor(random() * 1e6))),
    )
    const before = asked()
    const found = await Promise.all(worth.map((answers, at) => results('duel', group(`t${at}`, answers))))
    t.equal(asked() - before, 4 * 56, 'each pair in both orders')
    const taus = found.map((rewards, at) => kendallTau((worth[at] ?? []).map(Number), rewards.map(Number)))
    t.ok(taus.reduce((sum, tau) => sum + tau, 0) / 4 > 0.7, taus.map((tau) => tau.toFixed(2)).join(' '))
    t.ok(found.flat().every((reward) => Number(reward) >= 0 && Number(reward) <= 10))
  })

  await t.test('position bias is averaged out, counted and flagged', async (t) => {
    const outcomes = await outcomesOf(gateway, 'biased', group('b', ['1', '2', '3']))
    t.strictSame(outcomes.map(resultOf), [5, 5, 5])
    t.match(outcomes[0], {
      flags: ['duel:position_bias'],
      terms: [
        {
          draws: 2,
          spread: 0,
          score: { details: { comparisons: 2, wins: 1, order_changed: 2, missing: 0 } },
        },
      ],
    })
  })

  await t.test('each model of a panel is reported', async (t) => {
    const [two, three] = await outcomesOf(gateway, 'panel', group('pa', ['2 Exactly', '3 Exactly']))
    t.strictSame([two, three].map(resultOf), [2.5, 7.5])
    t.match(three?.terms[0], { score: { details: { panel: { judge: 1, partial: 0.5 } } } })
  })

  await t.test(
    'a failed pair is left out, and an answer with no pair left fails with its reason',
    async (t) => {
      const outcomes = await outcomesOf(
        gateway,
        'wins',
        group('f', ['5 Exactly', 'mute', '7', '9'.repeat(1600)]),
      )
      t.strictSame(outcomes.map(resultOf), [0, 'judge_unparseable', 10, 'prompt_too_long'])
      t.match(outcomes[0]?.terms[0], { draws: 1, score: { details: { comparisons: 1, missing: 2 } } })
      const [, mute, two] = await outcomesOf(gateway, 'skips', group('s', ['1 Exactly', 'mute', '2 Exactly']))
      t.match(mute, { valid: true, terms: [{ status: 'scored' }, { status: 'off', why: 'skipped' }] })
      t.match(two?.terms[1], { status: 'scored', draws: 1 })
      t.strictSame(await results('half', group('h', ['mute', '3', '3'])), [5, 5, 5])
      const bad = group('x', ['1 Exactly', '2', '3 Exactly'])
      const spoilt = bad.map((row, index) => (index === 1 ? { ...row, groundTruth: 7 } : row))
      t.strictSame(await results('wins', spoilt), [0, 'bad_sample', 10], "a row's bad truth is its own")
    },
  )

  const bare = (prompt: Sample['prompt'], truth: string, answer: string): Sample =>
    sampleOf(answer, { id: `${truth}/${answer}`, prompt, groundTruth: truth })
  const system = { role: 'system', content: 'Be short.' }
  const emptyPrompts: readonly Sample['prompt'][] = [
    '',
    ' \n\t\u00a0\u200b',
    [],
    [{ role: 'user', content: ' ' }],
    [system, { role: 'user', content: '' }],
  ]
  const withoutPrompt = (prompt: Sample['prompt']) =>
    ['1', '2', '3', '4'].map((answer) => bare(prompt, `t${answer}`, answer))

  await t.test('answers without a prompt and a group_id are compared with nothing', async (t) => {
    for (const prompt of emptyPrompts)
      for (const reward of ['duel', 'list', 'rank']) {
        const title = `${reward}: ${JSON.stringify(prompt)}`
        const outcomes = await outcomesOf(gateway, reward, withoutPrompt(prompt))
        t.strictSame(outcomes.map(resultOf), Array(4).fill('bad_sample'), title)
        t.match(outcomes[0], { failure: { detail: /send group_id, or a prompt/, retryable: false } }, title)
      }
  })

  await t.test('a reward that compares nothing needs neither prompt nor group_id', async (t) => {
    for (const prompt of emptyPrompts)
      t.strictSame(await results('rule', withoutPrompt(prompt)), [1, 2, 'rule_error', 'rule_error'])
  })

  await t.test('a group_id is enough to compare answers', async (t) => {
    const before = asked()
    for (const prompt of emptyPrompts) {
      const named = withoutPrompt(prompt).map((row, index) => ({ ...row, group: { id: 'one', index } }))
      t.notOk((await results('duel', named)).includes('bad_sample'), JSON.stringify(prompt))
    }
    t.ok(asked() > before)
  })

  await t.test('a system prompt is enough to compare answers', async (t) => {
    const found = await results('duel', [bare([system], 'x', '1'), bare([system], 'x', '2')])
    t.ok(
      found.every((one) => typeof one === 'number'),
      `${found}`,
    )
  })

  await t.test('answers to different problems are never compared', async (t) => {
    const before = asked()
    const [a, b] = ['x', 'y'].map((truth) =>
      ['1', '2'].map((answer) => bare('what is it?', truth, `${answer} Exactly ${truth}`)),
    )
    const mixed = await results('duel', [...(a ?? []), ...(b ?? [])])
    t.strictSame(mixed, [...(await results('duel', a ?? [])), ...(await results('duel', b ?? []))])
    t.equal(asked() - before, 2 * 2 * 2, 'each pair of one problem, in both orders, twice')
    const only = await outcomesOf(gateway, 'duel', [bare('q', 'x', '1'), bare('q', 'y', '2')])
    t.strictSame(only.map(resultOf), ['group_incomplete', 'group_incomplete'])
  })

  await t.test('a substituted group mean never mixes problems', async (t) => {
    const rows = ['1', '2', 'throw'].map((answer) => sampleOf(answer, { id: answer, prompt: '' }))
    const [, , none] = await outcomesOf(gateway, 'meant', rows)
    t.match(none, { valid: false, substitute: -7 }, 'without a prompt nothing is a sibling')
    const [, , some] = await outcomesOf(
      gateway,
      'meant',
      rows.map((row) => ({ ...row, prompt: 'q' })),
    )
    t.match(some, { valid: false, substitute: 1.5 })
    const [, , other] = await outcomesOf(
      gateway,
      'meant',
      rows.map((row, at) => ({ ...row, prompt: 'q', groundTruth: at })),
    )
    t.match(other, { valid: false, substitute: -7 })
  })

  await t.test('an incomplete group gets no number', async (t) => {
    const five = group('p', ['1', '2', '3']).map((row) => ({
      ...row,
      group: { ...row.group, id: 'p', size: 4 },
    }))
    for (const reward of ['duel', 'list', 'rank'])
      t.strictSame(await results(reward, five), Array(3).fill('group_incomplete'), reward)
    t.strictSame(await results('duel', group('q', ['1'])), ['group_incomplete'])
    t.strictSame(await results('some', five.slice(0, 1)), ['group_incomplete'])
    t.ok((await results('some', five)).every((value) => typeof value === 'number'))
    t.strictSame(await results('rank', group('q', ['1'])), [0])
  })

  await t.test(
    'a closed gate removes its answer, and a single remaining answer is not compared',
    async (t) => {
      const [first, second, third] = await outcomesOf(gateway, 'gated', group('k', ['1', '0', '1.0']))
      t.ok(Number(resultOf(first)) >= 1 && Number(resultOf(third)) >= 1)
      t.match(second?.terms[1], { status: 'off', why: 'gate' })
      const [only] = await outcomesOf(gateway, 'gated', group('l', ['1', '0']))
      t.equal(resultOf(only), 1)
      t.match(only?.terms[1], { status: 'off', why: 'not_applicable' })
    },
  )

  await t.test('a list is one question, and each vote shows another order', async (t) => {
    const before = asked()
    t.strictSame(await results('list', group('m', ['30', '10', '20'])), [30, 10, 20])
    t.equal(asked() - before, 1)
    t.strictSame(await results('list', group('n', ['30', 'x', '20'])), [30, 'judge_unparseable', 20])
    const [one] = await outcomesOf(gateway, 'lists', group('o', ['30', 'mute', '20']))
    t.match(one, { reward: 50, flags: ['list:unreadable'], terms: [{ draws: 3, spread: 0 }] })
    t.equal(asked() - before, 5)
    t.strictSame(await results('list', group('r', ['30', '101', '20'])), Array(3).fill('judge_out_of_range'))
    t.strictSame(
      await results('lists', group('s', ['30', '10', '20'])),
      [30, 10, 20],
      'in every order its own',
    )
  })

  await t.test('a group that is too large fails at once and costs nothing', async (t) => {
    const began = performance.now()
    const rows = Array.from({ length: 1500 }, (_, index) =>
      sampleOf(`${index}`, { id: `${index}`, prompt: '' }),
    )
    for (const reward of ['duel', 'ring', 'list'])
      t.strictSame([...new Set(await results(reward, rows))], ['bad_sample'], reward)
    t.strictSame([...new Set(await results('duel', rows.slice(0, 200)))], ['bad_sample'])
    t.ok(isWithin(performance.now() - began, 4000))
  })

  await t.test('answers without content get the lowest score and no judge sees them', async (t) => {
    const before = asked()
    t.strictSame(await results('wins', group('e', ['', '3 Exactly', '...', '4 Exactly'])), [
      0,
      10 * (2 / 3),
      0,
      10,
    ])
    t.equal(asked() - before, 2)
    t.strictSame(await results('wins', group('e', ['', ''])), [0, 0])
    t.strictSame(await results('list', group('e', ['30', '', '20'])), [30, 0, 20])
    t.equal(asked() - before, 3)
    t.equal((await results('tie', group('e', ['3', '3', '3'])))[0], 5)
    t.equal(asked() - before, 3, 'equal answers need no call')
  })

  await t.test('the votes on a pair are aggregated', async (t) => {
    const before = asked()
    t.strictSame(await results('voted', group('v', ['3 Exactly', '4 Exactly'])), [0, 10])
    t.equal(asked() - before, 4, 'two of three draws in both orders')
  })

  await t.test('no server fault ever creates a win or a loss', async (t) => {
    const random = seeded(seed + 2)
    const kinds = faultKinds.filter((kind) => kind !== 'slow')
    for (let round = 0; round < 3; round++) {
      for (const one of servers) {
        const drawn = Array.from({ length: 2 }, () => kinds[Math.floor(random() * kinds.length)] ?? '500')
        one.set(...drawn.map((kind) => ({ kind, rate: random() * 0.4 })))
      }
      const worth = Array.from({ length: 6 }, () => Math.floor(random() * 1e6))
      const answers = worth.map((value) => `${value} Exactly`)
      for (const outcome of await outcomesOf(gateway, 'shaky', group(`w${round}`, answers))) {
        const own = worth[Number(outcome.id.split('/')[1])] ?? 0
        const [term] = outcome.terms
        if (term?.status !== 'scored') {
          t.match(outcome, { valid: false, failure: { kind: /^(judge_|overloaded|group_incomplete)/ } })
          continue
        }
        const { comparisons = 0, wins = 0, missing = 0 } = term.score.details as Record<string, number>
        t.ok(wins <= worth.filter((value) => value < own).length, `round ${round}: ${wins} wins`)
        t.ok(comparisons - wins <= worth.filter((value) => value > own).length)
        t.equal(comparisons + missing, 5)
        t.ok(Math.abs(term.score.value - (10 * wins) / comparisons) < 1e-9)
      }
    }
    for (const one of servers) one.set()
  })

  await t.test('a dead judge leaves no number', async (t) => {
    for (const one of servers) one.set({ kind: '500' })
    for (const reward of ['duel', 'list', 'expected'])
      t.match(
        await results(reward, group('d', ['1', '2', '3'])),
        Array(3).fill(/^(judge_|overloaded)/),
        reward,
      )
  })
})
