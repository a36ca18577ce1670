import t from 'tap'
import consistencyJudge from '../../reward-functions/consistency-judge.ts'
import riderJudge from '../../reward-functions/rider-judge.ts'
import yesNoJudge from '../../reward-functions/yes-no-judge.ts'
import { shippedProbes } from '../../src/canary/probes.ts'
import { Standing } from '../../src/canary/standing.ts'

t.test('every shipped probe makes its judge ask a question, with its answer in it', async (t) => {
  const asked = {
    'yes-no-judge': (row: never) => yesNoJudge.rm_preprocess(row),
    'rider-judge': (row: never) => riderJudge.rm_preprocess(row),
    'consistency-judge': (row: never) => consistencyJudge.rm_preprocess(row),
  }
  const options = {
    'yes-no-judge': yesNoJudge.options.parse({}),
    'rider-judge': riderJudge.options.parse({}),
    'consistency-judge': consistencyJudge.options.parse({}),
  }
  t.strictSame(Object.keys(shippedProbes).sort(), Object.keys(asked).sort())
  for (const name of Object.keys(asked) as (keyof typeof asked)[]) {
    const probes = shippedProbes[name] ?? []
    t.ok(probes.some(({ min }) => min > 0.5) && probes.some(({ max }) => max < 0.5), name)
    for (const { name: probe, sample } of probes) {
      const question = asked[name]({ sample, truth: null, options: options[name], earlier: {} } as never)
      t.match(question, { kind: 'prompt' }, `${name} ${probe}`)
    }
  }
})

t.test('a standing changes once, by rounds in a row or by the share without a verdict', async (t) => {
  const patience = { wrongRounds: 2, maxUnreadable: 0.3 }
  const reasons = (rounds: readonly Parameters<Standing['push']>[0][], standing = new Standing(false)) =>
    rounds.map((round) => standing.push(round, patience)?.reason)
  t.strictSame(
    reasons([['wrong'], ['passed'], ['wrong'], ['failed'], ['no_call']]),
    new Array(5).fill(undefined),
  )
  t.match(reasons([['wrong'], ['wrong'], ['wrong'], ['passed']]), [undefined, /1 of 1/, undefined, null])
  const rising = [...new Array(6).fill(['passed', 'passed']), ...new Array(9).fill(['passed', 'unreadable'])]
  const told = reasons(rising).filter((reason) => reason !== undefined)
  t.match(told, [/^7 of its last 20 answers/])
  t.equal(told.length, 1)
  t.strictSame(reasons([['failed'], ['passed']], new Standing(true)), [undefined, null])
})
