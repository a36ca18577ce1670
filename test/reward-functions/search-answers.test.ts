import t from 'tap'
import searchEm from '../../reward-functions/search-em.ts'
import searchSubem from '../../reward-functions/search-subem.ts'
import type { Json } from '../../src/contract/index.ts'
import { scored } from '../../src/contract/testing.ts'

const prompt = 'What is the capital of France?'
type Row = readonly [answer: string, target: string | readonly string[]]

const paid = (rule: typeof searchEm, [answer, target]: Row, mode = 'strict'): boolean =>
  scored(rule, {
    prompt,
    response: `<think>Let me search.</think><answer>${answer}</answer>`,
    groundTruth: { target: target as Json },
    options: { mode },
  })?.value === 1
const both = { 'search-em': searchEm, 'search-subem': searchSubem }

const otherNumbers: readonly Row[] = [
  ['-5', '5'],
  ['- 5', '5'],
  ['\u22125', '5'],
  ['(-5)', '5'],
  ['-$5', '5'],
  ['3.5', '35'],
  ['.5', '5'],
  ['5.0', '50'],
  ['10.5', '105'],
  ['1/2', '12'],
  ['1,2', '12'],
  ['10-12', '1012'],
  ['5:3', '53'],
  ['5^2', '52'],
  ['5*2', '52'],
  ["5'2", '52'],
  ['5_2', '52'],
  ['5!', '5'],
  ['5%', '5'],
  ['> 5', '5'],
  ['<5', '5'],
  ['~5', '5'],
  ['1914-1918', '1914'],
  ['42-50', '42'],
  ['2024-06-18', '20240618'],
  ['42 million', '42'],
  ['less than 42', '42'],
  ['at least 42', '42'],
  ['twice 42', '42'],
]

const others: readonly Row[] = [
  ['Paris or London', 'Paris'],
  ['either Paris or London', 'Paris'],
  ['Paris and London', 'Paris'],
  ['Paris & London', 'Paris'],
  ['Paris/London', 'Paris'],
  ['Paris, London', 'Paris'],
  ['London, Paris', 'Paris'],
  ['Paris; London', 'Paris'],
  ['Paris | London', 'Paris'],
  ['Paris\nLondon', 'Paris'],
  ['Paris London', 'Paris'],
  ['London Paris', 'Paris'],
  ['Paris London Rome Berlin', 'Paris'],
  ['The capital of France is London or Paris.', 'Paris'],
  ['The capital is London and Paris', 'Paris'],
  ['The answer is London. Paris is nice', 'Paris'],
  ['The capital was London before it was Paris', 'Paris'],
  ['yes and no', 'yes'],
  ['yes or no', 'yes'],
  ['Yes? No.', 'yes'],
  ['no, yes', 'yes'],
  ['42 or 43', '42'],
  ['41, 42', '42'],
  ['巴黎或伦敦', '巴黎'],
  ['巴黎 伦敦', '巴黎'],
  ['comparison', 'Paris'],
  ['C', 'C++'],
  ['C#', 'C'],
]

const denials: readonly Row[] = [
  ['not Paris', 'Paris'],
  ['never Paris', 'Paris'],
  ['anything but Paris', 'Paris'],
  ['The answer is anything except Paris', 'Paris'],
  ['far from Paris', 'Paris'],
  ['The opposite of Paris', 'Paris'],
  ['It is not Paris', 'Paris'],
  ["It isn't Paris", 'Paris'],
  ['The capital of France is not Paris.', 'Paris'],
  ['The answer is: London, not Paris', 'Paris'],
  ['Paris is wrong', 'Paris'],
  ['maybe Paris', 'Paris'],
  ['Paris, maybe', 'Paris'],
  ['I guess Paris', 'Paris'],
  ['It could be Paris', 'Paris'],
  ['Paris?', 'Paris'],
  ['!Paris', 'Paris'],
  ['!= Paris', 'Paris'],
  ['~~Paris~~', 'Paris'],
  ['不是巴黎', '巴黎'],
  ['not no', 'no'],
]

const same: readonly Row[] = [
  ['Paris', 'Paris'],
  ['the PARIS.', 'Paris'],
  ['“Paris”', 'Paris'],
  ['**Paris**', 'Paris'],
  ['5', '5'],
  ['+5', '5'],
  ['$5', '5'],
  ['１２', '12'],
  ['\u22125', '-5'],
  ['1,000', '1000'],
  ['1000', '1,000'],
  ['3.50', '3.5'],
  ['42', '42.0'],
  ['0.5', '.5'],
  ['.50', '0.5'],
  ['5 percent', '5%'],
  ['5', '5%'],
  ['1914–1918', '1914-1918'],
  ['12/25/1999', '12-25-1999'],
  ['10:30', '10:30'],
  ['U.S.A.', 'USA'],
  ['well-known', 'wellknown'],
  ['it’s', "it's"],
  ['C++', 'C++'],
  ['Who Framed Roger Rabbit?', 'Who Framed Roger Rabbit'],
  ['São Paulo', 'são paulo'],
  ['巴黎。', '巴黎'],
]

const sentences: readonly Row[] = [
  ['It is Paris.', 'Paris'],
  ['The capital of France is Paris.', 'Paris'],
  ['Paris is the capital of France', 'Paris'],
  ['Paris, France', 'Paris'],
  ['in Paris', 'Paris'],
  ['the city of Paris', 'Paris'],
  ['Final answer: Paris', 'Paris'],
  ['答案是巴黎', '巴黎'],
  ['42 years', '42'],
  ['approximately 300 km', '300 km'],
  ['It was released in 1999', '1999'],
  ['The population is 1,000,000.', '1000000'],
  ['King Henry VIII', 'Henry VIII'],
  ['President Barack Obama', 'Barack Obama'],
  ['It was written by Jane Austen.', 'Jane Austen'],
  ['The largest planet in the solar system is Jupiter.', 'Jupiter'],
  ['The author of the book is J. K. Rowling.', 'J. K. Rowling'],
  ['New York City (NYC)', ['New York City', 'NYC']],
  ['Yes, it is.', 'yes'],
  ['No, it is not.', 'no'],
]

for (const [name, rule] of Object.entries(both)) {
  for (const [kind, rows] of Object.entries({ otherNumbers, others, denials }))
    t.test(`${name}: what is not the target is not paid (${kind})`, async (t) => {
      for (const one of rows) t.notOk(paid(rule, one), `${one[0]} for ${one[1]}`)
    })
  t.test(`${name}: the target counts in each of its usual forms`, async (t) => {
    for (const one of same) t.ok(paid(rule, one), `${one[0]} for ${one[1]}`)
  })
}

t.test('search-subem: a sentence that commits to the target counts', async (t) => {
  for (const one of sentences) t.ok(paid(searchSubem, one), `${one[0]} for ${one[1]}`)
})

t.test('search-subem: words of the question count only if it offers no choice', async (t) => {
  const value = (prompt: string): number | undefined =>
    scored(searchSubem, {
      prompt,
      response: '<answer>Paris London</answer>',
      groundTruth: { target: 'Paris' },
    })?.value
  t.equal(value('Which city is larger, Paris or London?'), 0)
})

t.test('search-em and search-subem keep their published readings', async (t) => {
  t.ok(paid(searchEm, ['10-12', '1012'], 'published'))
  t.ok(paid(searchSubem, ['not Paris', 'Paris'], 'published'))
})

t.test('a sentence in words of the question commits to a target that has a comma', async (t) => {
  const read = (response: string) =>
    scored(searchSubem, {
      prompt: 'When did the first humans land on the moon?',
      response: `<answer>${response}</answer>`,
      groundTruth: { target: ['July 20, 1969'] },
      options: {},
    })?.value
  t.equal(read('The first humans landed on the moon on July 20, 1969.'), 1)
  t.equal(read('The first humans landed on the moon on July 20, 1969, or in 1970.'), 0)
})
