import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import textSimilarityRule from '../../reward-functions/text-similarity.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { commonSubsequence, similarityMetrics, textSimilarity } from '../../src/extract/index.ts'
import { nearLinear } from '../support/hostile.ts'

const groundTruth = 'Six crates of seven jars make forty-two jars in all.'

ruleContract(t, textSimilarityRule, {
  full: { response: groundTruth, groundTruth },
  zero: { response: 'No idea', groundTruth },
  malformed: { response: '<think>', groundTruth },
  hacks: {
    'the words in another order': {
      response: 'jars make Six crates in all of seven forty-two jars',
      groundTruth,
    },
    'the text twice': { response: `${groundTruth} ${groundTruth}`, groundTruth },
    'right only while thinking': { response: `<think>${groundTruth}</think> I pass`, groundTruth },
  },
})

t.test('the metrics equal rapidfuzz, nltk and rouge-score on 200 pairs', async (t) => {
  const lines = readFileSync(join('test/fixtures/text-similarity.jsonl'), 'utf8').trim().split('\n')
  t.equal(lines.length, 200)
  for (const metric of similarityMetrics) {
    const differing = lines
      .map((line) => JSON.parse(line))
      .filter(
        (pair) =>
          !(Math.abs(textSimilarity(metric, pair.candidate, pair.reference) - pair.expected[metric]) < 1e-9),
      )
    t.strictSame(differing, [], metric)
  }
})

t.test('equal texts are as near as can be by every metric, empty ones as far', async (t) => {
  for (const metric of similarityMetrics) {
    t.ok(Math.abs(textSimilarity(metric, groundTruth, groundTruth) - 1) < 1e-12, metric)
    t.equal(textSimilarity(metric, '', groundTruth), 0, metric)
  }
  t.equal(textSimilarity('fuzzy_match', '', ''), 1)
  t.equal(textSimilarity('gleu', '', ''), 0)
})

t.test('the nearest of several references counts, and a bar makes it 1 or 0', async (t) => {
  const value = (truth: Json, options: Json): number | undefined =>
    scored(textSimilarityRule, { response: groundTruth, groundTruth: truth, options })?.value
  t.equal(value(['x', groundTruth], { metric: 'fuzzy_match' }), 1)
  t.equal(value('Six crates', { metric: 'rouge_1', pass: 0.2 }), 1)
  t.equal(value('Six crates', { metric: 'rouge_1', pass: 0.9 }), 0)
  t.throws(
    () => row(textSimilarityRule, { groundTruth: '东京' }),
    'rouge reads ASCII only: no reference, no score',
  )
  t.throws(() => row(textSimilarityRule, { groundTruth: 'a '.repeat(20_000) }))
  t.throws(() => row(textSimilarityRule, { groundTruth, options: { metric: 'meteor' } }))
})

t.test('a common subsequence has the length that the plain recurrence gives it', async (t) => {
  let seed = 20
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed % below
  }
  for (let round = 0; round < 200; round++) {
    const [a, b] = [random(90), random(90)].map((length) => Array.from({ length }, () => `${random(5)}`)) as [
      string[],
      string[],
    ]
    let previous = new Array<number>(b.length + 1).fill(0)
    for (const x of a) {
      const next = [0]
      for (const [j, y] of b.entries()) {
        next.push(x === y ? (previous[j] ?? 0) + 1 : Math.max(next[j] ?? 0, previous[j + 1] ?? 0))
      }
      previous = next
    }
    t.equal(commonSubsequence(a, b), previous.at(-1), `round ${round}, seed 20`)
  }
})

t.test('hostile text costs little', async (t) => {
  for (const metric of similarityMetrics)
    nearLinear(t, (text) => textSimilarity(metric, text, groundTruth), 6000)
})
