import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import repetitionPenalty from '../../reward-functions/repetition-penalty.ts'
import { scored } from '../../src/contract/testing.ts'
import { repeatedShare, words } from '../../src/grading/index.ts'
import { seeded } from '../support/seeded.ts'

const penalty = (response: string): number | undefined => scored(repetitionPenalty, { response })?.value
/** What the share of repeated word n-grams alone costs. */
const byWords = (response: string): number => 0 - repeatedShare(words(response), 3)

const draw = seeded(11)
const below = (limit: number): number => Math.floor(draw() * limit)
const times = (count: number, one: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => one(index)).join('')
const prose =
  'Two trains leave the station at the same time and meet after three hours. First we add the apples in both baskets, then we subtract the rotten ones.'
const bytes = (length: number): number[] => Array.from({ length }, () => below(256))

const repetitive: Readonly<Record<string, string>> = {
  'exclamation and question marks': '!!! ??? '.repeat(200),
  'one emoji': '😀'.repeat(300),
  'two emoji': '😀🎉'.repeat(100),
  'emoji with joiners': '🎉😀❤️👍'.repeat(60),
  'letters without blanks': 'abc'.repeat(500),
  laughter: 'ha'.repeat(1000),
  'a little laughter': 'ha'.repeat(30),
  'laughter in capitals': 'haHA'.repeat(100),
  'words with underscores': 'ha_'.repeat(200),
  'one letter': 'a'.repeat(100),
  'one Chinese character': '哈'.repeat(200),
  brackets: '{}()[];'.repeat(300),
  parentheses: '()'.repeat(100),
  dashes: '-'.repeat(3000),
  'some dashes': '-'.repeat(200),
  dots: '.'.repeat(3000),
  signs: '?!*&^%$#@'.repeat(60),
  commands: '\\frac'.repeat(50),
  'laughter after prose': prose + 'ha'.repeat(500),
  'dashes after prose': prose + '-'.repeat(1000),
  'emoji after prose': prose + '😀'.repeat(300),
  'signs after prose': prose + '?!'.repeat(150),
  'a counter': times(200, (i) => `wait ${17 + i} no `),
  'a counter with punctuation': times(60, (i) => `Wait, step ${i}: no. `),
  'a counter without blanks': times(100, (i) => `wait${i} no${i} `),
  'a counter of steps': times(100, (i) => `Step ${i}. `),
  'a Chinese counter': times(50, (i) => `等等第${i}步不对`),
  'a sentence with a counter': `Let me check number ${times(50, (i) => `${i}, and then number `)}`,
  'drawn numbers': times(100, () => `wait ${below(900)} no `),
}

const ordinary: Readonly<Record<string, string>> = {
  'a table': `| Name | Age | City |\n|------|-----|------|\n${['Ann', 'Bob', 'Cid', 'Dee'].map((name, i) => `| ${name} | ${20 + i * 3} | City${i} |`).join('\n')}`,
  'a long table of numbers': `| a | b | c |\n|---|---|---|\n${times(40, (i) => `| ${i} | ${i * i} | ${(i * 7919) % 101} |\n`)}`,
  'rules of markdown': `${prose}\n${'-'.repeat(80)}\n# Steps\n${'='.repeat(100)}\nThe end.`,
  'leaders of a table of contents': `Introduction ${'.'.repeat(60)} 1\nMethods ${'.'.repeat(65)} 7`,
  'fields of a form': `Name: ${'_'.repeat(60)}\nDate: ${'_'.repeat(60)}`,
  'an empty board': times(4, () => '+---+---+---+---+\n|   |   |   |   |\n'),
  'a power of ten': `The number is 1${'0'.repeat(100)}`,
  'a third': `1/3 = 0.${'3'.repeat(200)}`,
  'a seventh': `1/7 = 0.${'142857'.repeat(30)}`,
  'binary digits': '1010'.repeat(40),
  base64: Buffer.from(bytes(900)).toString('base64'),
  'base64 with zeros': Buffer.from([...bytes(300), ...Array(80).fill(0), ...bytes(300)]).toString('base64'),
  'data in JSON': `[${times(40, (i) => `{"id": ${i}, "x": ${((i * 7919) % 101) / 10}, "y": ${((i * 104729) % 103) / 10}},`)}]`,
  'data in CSV': `name,score\n${times(30, (i) => `${'abcdef'[i % 6]}nn${(i * 37) % 91},${(i * i) % 89}\n`)}`,
  'an identity matrix': `\\begin{pmatrix} ${times(8, (i) => `${times(8, (j) => `${Number(i === j)} & `)}\\\\ `)}\\end{pmatrix}`,
  'a list of numbers': times(100, (i) => `${i + 1}, `),
  'a table of squares': times(30, (i) => `${i}^2 = ${i * i}\n`),
  'a multiplication table': times(12, (i) => `7 x ${i + 1} = ${7 * (i + 1)}\n`),
  'a sum of variables': `${times(20, (i) => `x${i + 1} + `)}0 = 1`,
  'closing braces': `f(g(h(a(b(c(d))))))${'}'.repeat(20)}`,
  code: '#include <vector>\n#include <map>\nint main() {\n    for (int i = 0; i < 10; ++i) {\n        if (i % 2 == 0) {\n            v.push_back(i);\n        }\n    }\n}\n',
  'a proof':
    'Suppose that 2 divides n. Then n = 2k, so n^2 = 4k^2 is even. Suppose that 2 does not divide n. Then n = 2k + 1, so n^2 = 4k^2 + 4k + 1 is odd. Hence n^2 is even exactly if n is.',
}

t.test('repetition-penalty: signs, emoji, runs without blanks and counters repeat', async (t) => {
  for (const [name, response] of Object.entries(repetitive)) {
    const value = penalty(response)
    t.ok(value !== undefined && value < -0.6, `${name}: ${value}`)
  }
})

t.test(
  'repetition-penalty: tables, code, rules, long numbers and data cost no more than their words',
  async (t) => {
    for (const [name, response] of Object.entries(ordinary))
      t.equal(penalty(response), byWords(response), name)
  },
)

t.test('repetition-penalty: prose in ten languages costs no more than its words', async (t) => {
  const texts: Record<string, string[]> = JSON.parse(
    readFileSync(join('test/fixtures/languages.json'), 'utf8'),
  )
  for (const [code, sentences] of Object.entries(texts))
    t.equal(penalty(sentences.join(' ')), byWords(sentences.join(' ')), code)
})

t.test('repetition-penalty: ten times as much of a unit never costs less', async (t) => {
  for (const unit of ['ha', 'abc', '!?', '😀', '{}', '-', 'wait ', '哈', 'a_b'])
    for (const before of ['', prose]) {
      let last = 0
      for (const count of [10, 100, 1000]) {
        const value = penalty(before + unit.repeat(count)) ?? 0
        t.ok(value <= last + 1e-9, `${unit} x ${count}: ${value} after ${last}`)
        last = value
      }
    }
})
