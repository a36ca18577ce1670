import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import languageConsistency from '../../reward-functions/language-consistency.ts'
import textSimilarityRule from '../../reward-functions/text-similarity.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { commonSubsequence, similarityMetrics, textSimilarity } from '../../src/grading/index.ts'
import { languageOf } from '../../src/grading/language.ts'
import { eachNearLinear, mostMs } from '../support/hostile.ts'
import { valueBy } from '../support/rules.ts'
import { seeded } from '../support/seeded.ts'

const groundTruth = 'Six crates of seven jars make forty-two jars in all.'

t.test('text-similarity keeps its contract', async (t) => {
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
})

t.test('text-similarity: the metrics equal rapidfuzz, nltk and rouge-score on 200 pairs', async (t) => {
  const lines = readFileSync(join('test/fixtures/text-similarity.jsonl'), 'utf8').trim().split('\n')
  t.equal(lines.length, 200)
  const pairs = lines.map((line) => JSON.parse(line))
  /** The libraries take a run of Chinese or Japanese for one word, and rouge-score leaves it out. */
  const spaced = pairs.filter(({ candidate, reference }) => !/[東京駅]/.test(candidate + reference))
  t.ok(spaced.length > 100)
  for (const metric of similarityMetrics) {
    const differing = (metric === 'fuzzy_match' ? pairs : spaced).filter(
      (pair) =>
        !(Math.abs(textSimilarity(metric, pair.candidate, pair.reference) - pair.expected[metric]) < 1e-9),
    )
    t.strictSame(differing, [], metric)
  }
})

t.test('text-similarity: equal texts score 1 and empty texts 0 by every metric', async (t) => {
  for (const metric of similarityMetrics) {
    t.ok(Math.abs(textSimilarity(metric, groundTruth, groundTruth) - 1) < 1e-12, metric)
    t.equal(textSimilarity(metric, '', groundTruth), 0, metric)
  }
  t.equal(textSimilarity('fuzzy_match', '', ''), 1)
  t.equal(textSimilarity('gleu', '', ''), 0)
})

t.test(
  'text-similarity: the closest of several ground truths counts, and `pass` makes it 1 or 0',
  async (t) => {
    const value = (truth: Json, options: { [name: string]: Json }) =>
      valueBy(textSimilarityRule)(groundTruth, truth, options)
    t.equal(value(['x', groundTruth], { metric: 'fuzzy_match' }), 1)
    t.equal(value('Six crates', { metric: 'rouge_1', pass: 0.2 }), 1)
    t.equal(value('Six crates', { metric: 'rouge_1', pass: 0.9 }), 0)
    t.throws(() => row(textSimilarityRule, { groundTruth: '?!' }), 'no reference, no score')
    t.throws(() => row(textSimilarityRule, { groundTruth: 'a '.repeat(20_000) }))
    t.throws(() => row(textSimilarityRule, { groundTruth, options: { metric: 'meteor' } }))
  },
)

t.test(
  'text-similarity: a common subsequence has the length that the plain recurrence gives it',
  async (t) => {
    const draw = seeded(20)
    const random = (below: number): number => Math.floor(draw() * below)
    for (let round = 0; round < 200; round++) {
      const [a, b] = [random(90), random(90)].map((length) =>
        Array.from({ length }, () => `${random(5)}`),
      ) as [string[], string[]]
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
  },
)

const similarity = valueBy(textSimilarityRule)

t.test('text-similarity: sacrebleu, chrF and TER keep their contracts', async (t) => {
  for (const metric of ['sacrebleu', 'chrf', 'chrf++', 'ter'])
    ruleContract(t, textSimilarityRule, {
      options: { metric },
      full: { response: groundTruth, groundTruth },
      zero: { response: '<think>', groundTruth },
      malformed: { response: 'No idea', groundTruth },
      hacks: {
        'the words in another order': {
          response: 'jars make Six crates in all of seven forty-two jars.',
          groundTruth,
        },
        'the text twice': { response: `${groundTruth} ${groundTruth}`, groundTruth },
        'its most frequent word': { response: 'jars '.repeat(10), groundTruth },
        'its letters': { response: 'abcdefghijklmnopqrstuvwxyz-. '.repeat(9), groundTruth },
        'right only while thinking': { response: `<think>${groundTruth}</think> I pass`, groundTruth },
        'a letter for each word': { response: 'S c o s j m f j i a', groundTruth },
      },
    })
})

/** Recorded from sacrebleu 2.6.0 for sentences of this project's own. */
const translations: readonly (readonly [
  metric: string,
  options: { [name: string]: Json },
  wanted: number,
])[] = [
  ['sacrebleu', {}, 0.5142401605028263],
  ['sacrebleu', { tokenize: 'intl', lowercase: true }, 0.5142401605028263],
  ['sacrebleu', { tokenize: 'char' }, 0.6034437659461062],
  ['chrf', {}, 0.4580346982969633],
  ['chrf++', { lowercase: true }, 0.4866212178837264],
  ['ter', {}, 0.6470588235294117],
  ['ter', { ter: { normalized: true, no_punct: true } }, 0.7894736842105263],
]

t.test('text-similarity: sacrebleu, chrF and TER equal sacrebleu', async (t) => {
  const references = ['The old ferry, 3.5 metres long, left at 9 a.m.', 'At 9 a.m. the old ferry departed.']
  for (const [metric, options, wanted] of translations) {
    const found =
      similarity('At 9 a.m. the ferry (old) left!', references, { metric, ...options }) ?? Number.NaN
    t.ok(Math.abs(found - wanted) < 1e-9, `${metric} ${JSON.stringify(options)}: ${found}`)
  }
  const chinese =
    similarity('河边的图书馆每天开门。', '河边的小图书馆早上开门。', {
      metric: 'sacrebleu',
      tokenize: 'zh',
    }) ?? 0
  t.ok(Math.abs(chinese - 0.29037461218948196) < 1e-9, `zh: ${chinese}`)
})

t.test(
  'text-similarity: a long sentence whose words are moved far has its edits counted in time',
  async (t) => {
    const words = Array.from({ length: 1000 }, (_, at) => `w${at % 400}`)
    for (const moved of [
      [...words].reverse(),
      words.map((_, at) => words[at ^ 1] ?? ''),
      words.map((_, at) => `w${at % 3}`),
    ]) {
      const started = process.cpuUsage()
      similarity(moved.join(' '), words.join(' '), { metric: 'ter' })
      const { user } = process.cpuUsage(started)
      t.ok(user / 1000 < mostMs(6000), `${Math.round(user / 1000)} ms`)
    }
  },
)

t.test('text-similarity: what a metric cannot compare or read is refused', async (t) => {
  const refused = (groundTruth: Json, options: { [name: string]: Json }, message: RegExp) =>
    t.throws(() => row(textSimilarityRule, { groundTruth, options }), message)
  refused('a '.repeat(1001), { metric: 'ter' }, /more than 1000 words for ter/)
  refused('...', { metric: 'ter', ter: { no_punct: true } }, /nothing to compare/)
  refused('a', { metric: 'sacrebleu', tokenize: 'flores200' }, /needs a model's data/)
  refused('a', { metric: 'sacrebleu', tokenize: 'moses' }, /expected one of 13a, intl, zh, char, none/)
  t.equal(similarity(`${'a '.repeat(2000)}b`, 'a '.repeat(1000), { metric: 'ter' }), 0)
})

/** A sentence with a number, a sentence that is close, and what of it is digits and Latin letters. */
const scripts: Readonly<Record<string, readonly [text: string, close: string, ascii: string]>> = {
  Chinese: ['北京市在2024年举办了GDP会议。', '北京市于2024年举办GDP会议。', '2024 GDP'],
  Japanese: ['東京は2024年にGDPの会議を開きました。', '東京では2024年にGDPの会議を開いた。', '2024 GDP'],
  Thai: ['กรุงเทพจัดการประชุม GDP ในปี 2024', 'กรุงเทพจัดประชุม GDP เมื่อปี 2024', 'GDP 2024'],
  Russian: [
    'В 2024 году в Москве прошла большая встреча о ВВП и GDP страны.',
    'В 2024 году в Москве прошла большая встреча о GDP.',
    '2024 GDP',
  ],
  'Cyrillic mixed with digits': [
    'поезд2024 из Киева5 шёл 12 часов',
    'поезд2024 из Киева5 шёл 11 часов',
    '2024 5 12',
  ],
  Greek: ['Η Αθήνα είχε το 2024 μεγάλη συνάντηση.', 'Η Αθήνα είχε το 2024 συνάντηση.', '2024'],
  Arabic: ['عقدت القاهرة عام 2024 اجتماعا كبيرا.', 'عقدت القاهرة عام 2024 اجتماعا.', '2024'],
  Korean: ['서울은 2024년에 큰 회의를 열었다.', '서울은 2024년에 회의를 열었다.', '2024'],
  Hindi: ['दिल्ली में 2024 में बड़ी बैठक हुई।', 'दिल्ली में 2024 में बैठक हुई।', '2024'],
}

t.test(
  'text-similarity: the digits and Latin words of a sentence in another script are not it',
  async (t) => {
    for (const metric of similarityMetrics)
      for (const [script, [text, , ascii]] of Object.entries(scripts)) {
        const similarity = textSimilarity(metric, ascii, text)
        t.ok(similarity < 0.7, `${metric}, ${script}: ${similarity}`)
        t.ok(Math.abs(textSimilarity(metric, text, text) - 1) < 1e-9, `${metric}, ${script}`)
      }
  },
)

t.test('text-similarity: a close sentence is closer than a far one in every script', async (t) => {
  for (const metric of similarityMetrics)
    for (const [script, [text, close, ascii]] of Object.entries(scripts))
      t.ok(textSimilarity(metric, close, text) >= textSimilarity(metric, ascii, text), `${metric}, ${script}`)
})

t.test('text-similarity: words of another script beside the answer cost what Latin words do', async (t) => {
  for (const metric of ['rouge_1', 'rouge_2', 'rouge_l'] as const)
    t.ok(textSimilarity(metric, `${groundTruth} 此外还有很多别的话要说。`, groundTruth) < 0.85, metric)
})

const fixture = join('test/fixtures/languages.json')
const labelled: Record<string, string[]> = JSON.parse(readFileSync(fixture, 'utf8'))
const [english = '', german = '', chinese = ''] = ['en', 'de', 'zh'].map((code) => labelled[code]?.join(' '))

t.test('language-consistency keeps its contract', async (t) => {
  ruleContract(t, languageConsistency, {
    full: { prompt: english, response: english },
    zero: { prompt: english, response: german },
    malformed: { prompt: english, response: '42' },
    hacks: {
      'one sentence in the language of the prompt': {
        prompt: german,
        response: `${german.slice(0, 80)} ${english}`,
      },
      'another script between': { prompt: english, response: `${english} ${chinese}` },
      'another language in code marks does not count for it': {
        prompt: german,
        response: `\`\`\`${german}\`\`\` ${english}`,
      },
    },
  })
})

t.test(
  'language-consistency: at least 95 % of single sentences in ten languages are told apart',
  async (t) => {
    t.equal(Object.keys(labelled).length, 10)
    const sentences = Object.entries(labelled).flatMap(([code, texts]) =>
      texts.map((text) => ({ code, text })),
    )
    const right = sentences.filter(({ code, text }) => languageOf(text) === code)
    t.ok(right.length >= 0.95 * sentences.length, `${right.length} of ${sentences.length}`)
    const scores = sentences.map(
      ({ code, text }) =>
        scored(languageConsistency, {
          response: text,
          groundTruth: code,
          options: { language: 'ground_truth' },
        })?.value,
    )
    t.ok(scores.filter((score) => score === 1).length >= 0.95 * scores.length)
  },
)

t.test(
  'language-consistency: the wanted language is that of the prompt, of the row or of the config',
  async (t) => {
    const conversation = [
      { role: 'system', content: english },
      { role: 'user', content: german },
    ]
    t.equal(scored(languageConsistency, { prompt: conversation, response: german })?.value, 1)
    t.equal(scored(languageConsistency, { prompt: conversation.slice(0, 1), response: english })?.value, 1)
    t.equal(scored(languageConsistency, { response: chinese, options: { language: 'zh' } })?.value, 1)
    t.equal(
      scored(languageConsistency, { prompt: '2 + 2 = ?', response: german }),
      null,
      'no language to keep',
    )
    t.equal(scored(languageConsistency, { prompt: [], response: german }), null)
    t.equal(
      scored(languageConsistency, { prompt: 'Résous.', response: english }),
      null,
      'too short to be sure',
    )
    t.equal(scored(languageConsistency, { prompt: '解方程 x + 2 = 5', response: chinese })?.value, 1)
    t.equal(scored(languageConsistency, { response: 'Hallo', options: { language: 'de' } })?.value, 1)
    t.throws(() => row(languageConsistency, { options: { language: 'xx' } }))
    t.throws(() => row(languageConsistency, { groundTruth: 'German', options: { language: 'ground_truth' } }))
  },
)

t.test('language-consistency: code, formulas and addresses are in no language', async (t) => {
  const response = `${german}\n\`\`\`python\nprint("the answer is forty-two because of the jars")\n\`\`\`
\\(\\text{where the sides are equal}\\) $\\text{and the rest is not}$ https://example.com/the-answer-is-here`
  t.equal(scored(languageConsistency, { response, options: { language: 'de' } })?.value, 1)
})

t.test('language-consistency: a mixed answer earns its share, or nothing below `pass`', async (t) => {
  const response = `${english} ${chinese}`
  const share = scored(languageConsistency, { response, options: { language: 'en' } })
  t.ok(share && share.value > 0.5 && share.value < 0.9, `${share?.value}`)
  t.match(share?.details, { wanted: 'en', languages: { en: Number, zh: Number } })
  t.equal(scored(languageConsistency, { response, options: { language: 'en', pass: 0.9 } })?.value, 0)
  t.equal(scored(languageConsistency, { response, options: { language: 'en', pass: 0.5 } })?.value, 1)
  t.strictSame(scored(languageConsistency, { response: '42', options: { language: 'en' } }), {
    value: 0,
    details: { wanted: 'en', reason: 'no_words' },
  })
})

t.test('hostile text is scored in linear time', async (t) => {
  for (const metric of similarityMetrics)
    eachNearLinear(t, { [metric]: (text) => textSimilarity(metric, text, groundTruth) }, 6000)
  for (const metric of ['sacrebleu', 'chrf++', 'ter'])
    eachNearLinear(t, { [metric]: (text) => similarity(text, groundTruth, { metric }) })
  eachNearLinear(t, {
    'language-consistency': (response) =>
      scored(languageConsistency, { response, options: { language: 'en' } }),
  })
})
