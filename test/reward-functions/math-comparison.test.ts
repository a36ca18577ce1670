import t from 'tap'
import geo3k from '../../reward-functions/geo3k.ts'
import mathBenchmark from '../../reward-functions/math-benchmark.ts'
import mathBoxed from '../../reward-functions/math-boxed.ts'
import mathDapo from '../../reward-functions/math-dapo.ts'
import mathVerify from '../../reward-functions/math-verify.ts'
import npgMuseMath from '../../reward-functions/npg-muse-math.ts'
import primeMath from '../../reward-functions/prime-math.ts'
import { mathAnswers } from '../support/math-answers.ts'
import { valueBy } from '../support/rules.ts'

const box = (answer: string): string => `So it is $\\boxed{${answer}}$.`

/** How a rule wants an answer, and whether it pays it. */
const pays: Readonly<Record<string, (answer: string, truth: string) => boolean>> = {
  'math-verify': (answer, truth) => valueBy(mathVerify)(box(answer), truth) === 1,
  'math-benchmark': (answer, truth) =>
    valueBy(mathBenchmark)(box(answer), truth, { benchmark: 'math' }) === 1,
  'math-boxed': (answer, truth) => valueBy(mathBoxed)(box(answer), truth) === 1,
  'math-dapo': (answer, truth) => valueBy(mathDapo)(`So it is.\nAnswer: ${answer}`, truth) === 1,
  'prime-math': (answer, truth) => valueBy(primeMath)(box(answer), truth) === 1,
  geo3k: (answer, truth) => valueBy(geo3k)(`<think>By Thales.</think>${box(answer)}`, truth) === 1,
  'npg-muse-math': (answer, truth) =>
    valueBy(npgMuseMath)(`<think>\nHalf of it.\n</think>\n${box(answer)}`, truth) === 3,
}

const written = ({ truth, answer }: { truth: string; answer: string }): string => `${truth} :: ${answer}`

for (const [rule, isPaid] of Object.entries(pays)) {
  t.test(`${rule} pays no committed answer that is not the truth`, async (t) => {
    const rows = mathAnswers('wrong')
    const paid = rows.filter(({ truth, answer }) => isPaid(answer, truth))
    t.ok(rows.length > 400)
    t.strictSame(paid.map(written), [])
  })

  t.test(`${rule} refuses no form of the truth`, async (t) => {
    const rows = mathAnswers('right')
    const refused = rows.filter(({ truth, answer }) => !isPaid(answer, truth))
    t.ok(rows.length > 200)
    t.strictSame(refused.map(written), [])
  })
}
