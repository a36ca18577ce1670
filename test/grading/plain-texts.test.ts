/** The short ways for plain texts read them as the long ways do. */
import t from 'tap'
import { undressed } from '../../src/grading/answer/legible.ts'
import { soleNumber, valueOfNumber } from '../../src/grading/number-answer.ts'
import { seeded } from '../support/seeded.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

t.test(
  'a number in digits alone is the same with a blank before it, for which nothing is cut short',
  async (t) => {
    const next = seeded(seed)
    const below = (limit: number): number => Math.floor(next() * limit)
    const digits = (count: number): string => Array.from({ length: count }, () => below(10)).join('')
    const numbers = ['0', '-0', '0.0', '-0.50', '1.234', '1000.000', '999999999999999.999999999999999']
    for (let made = 0; made < 2000; made++)
      numbers.push(
        `${next() < 0.3 ? '-' : ''}${next() < 0.2 ? 0 : `${1 + below(9)}${digits(below(15))}`}${next() < 0.5 ? `.${digits(1 + below(15))}` : ''}`,
      )
    for (const number of numbers) {
      const note = `${number}, seed ${seed}`
      t.strictSame(soleNumber(number), soleNumber(` ${number}`), note)
      t.strictSame(valueOfNumber(number), valueOfNumber(` ${number}`), note)
    }
  },
)

t.test(
  'a text without dress is the same with an invisible sign behind it, for which nothing is cut short',
  async (t) => {
    const next = seeded(seed)
    const signs = [
      '42',
      '1,000',
      '-7',
      '3/4',
      'pens',
      'The',
      'is',
      '**',
      '=',
      '.',
      ',',
      '(',
      ')',
      '%',
      '^2',
      '#',
    ]
    for (let made = 0; made < 2000; made++) {
      const text = Array.from({ length: 1 + Math.floor(next() * 12) }, () => [
        signs[Math.floor(next() * signs.length)],
        ['', ' ', '\n', '\t'][Math.floor(next() * 4)],
      ])
        .flat()
        .join('')
      t.equal(undressed(text), undressed(`${text}\u200b`), `${JSON.stringify(text)}, seed ${seed}`)
    }
  },
)
