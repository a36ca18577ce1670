import t from 'tap'
import choiceMatch from '../../reward-functions/choice-match.ts'
import mathVerify from '../../reward-functions/math-verify.ts'
import numericMatch from '../../reward-functions/numeric-match.ts'
import qaF1 from '../../reward-functions/qa-f1.ts'
import { scored } from '../../src/contract/testing.ts'
import { cheapestMs } from '../support/cpu.ts'

// A pattern that can read a run of signs in many ways tries them all where the text behind the run does not fit. A bound on the length
// of what it reads does not help: 100 letters in up to four words can be cut in four million ways.

const readers = {
  'numeric-match': (response: string) => scored(numericMatch, { response, groundTruth: '42' }),
  'math-verify': (response: string) => scored(mathVerify, { response, groundTruth: '42' }),
  'choice-match': (response: string) => scored(choiceMatch, { response, groundTruth: 'B' }),
  'qa-f1': (response: string) => scored(qaF1, { response, groundTruth: 'Canberra' }),
}
/** Milliseconds of CPU; the ways of one run took 50 to 1,500, and one pattern never ended. */
const most = process.env.NODE_V8_COVERAGE === undefined ? 40 : 80

const cost = (run: () => unknown): number => cheapestMs(most, 4, run)

t.test('a response of some hundred signs costs some milliseconds, whatever it repeats', async (t) => {
  const begins = [
    ...['', '42 ', '42', '42, ', '42 (', 'x', 'The answer is 42 ', '\\boxed{', '\\boxed{42} ', '<answer>42'],
    ...['$x = ', '#### ', '(B) ', 'I think ', 'Canberra, not ', 'Canberra, not the ', 'Canberra ('],
  ]
  const units = [
    ...' \t\n=.,:;-+*_"\'’()[]{}$\\/%?!#|axÀ1',
    ...[
      'or ',
      'not ',
      'a ',
      'the ',
      '1 ',
      ', ',
      'is ',
      '= ',
      '1=',
      '\t=\t\t',
      '\\quad ',
      'À0A',
      'a1',
      'a,',
      '(a)',
    ],
  ]
  const ends = ['', '(1', ' = 3', '42x']
  for (const begin of begins)
    for (const unit of units)
      for (const end of ends)
        for (const [name, read] of Object.entries(readers)) {
          const response = begin + unit.repeat(Math.ceil(100 / unit.length)) + end
          const ms = cost(() => read(response))
          if (ms > most) t.fail(`${name}: ${Math.round(ms)} ms for ${JSON.stringify(response)}`)
        }
})

t.test('words behind an answer are read in one way', async (t) => {
  const letters = 'a'.repeat(78)
  for (const response of [
    `42${'x'.repeat(150)} = 3`,
    `The answer is 42 ${letters}(1`,
    `The answer is 42 ${letters} and 7`,
    `x${'\t=\t\t'.repeat(29)}42x`,
    `Canberra, not ${'À0A'.repeat(120)}\u0000`,
  ])
    for (const [name, read] of Object.entries(readers)) {
      const ms = cost(() => read(response))
      t.ok(ms <= most, `${name}: ${Math.round(ms)} ms for ${JSON.stringify(response.slice(0, 60))}`)
    }
})
