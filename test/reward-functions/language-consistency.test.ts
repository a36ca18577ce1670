import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import languageConsistency from '../../reward-functions/language-consistency.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { languageOf } from '../../src/extract/language.ts'
import { nearLinear } from '../support/hostile.ts'

const fixture = join('test/fixtures/languages.json')
const labelled: Record<string, string[]> = JSON.parse(readFileSync(fixture, 'utf8'))
const [english = '', german = '', chinese = ''] = ['en', 'de', 'zh'].map((code) => labelled[code]?.join(' '))

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

t.test('at least 95 % of single sentences in ten languages are told apart', async (t) => {
  t.equal(Object.keys(labelled).length, 10)
  const sentences = Object.entries(labelled).flatMap(([code, texts]) => texts.map((text) => ({ code, text })))
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
})

t.test('the wanted language is that of the prompt, of the row or of the config', async (t) => {
  const conversation = [
    { role: 'system', content: english },
    { role: 'user', content: german },
  ]
  t.equal(scored(languageConsistency, { prompt: conversation, response: german })?.value, 1)
  t.equal(scored(languageConsistency, { prompt: conversation.slice(0, 1), response: english })?.value, 1)
  t.equal(scored(languageConsistency, { response: chinese, options: { language: 'zh' } })?.value, 1)
  t.equal(scored(languageConsistency, { prompt: '2 + 2 = ?', response: german }), null, 'no language to keep')
  t.equal(scored(languageConsistency, { prompt: [], response: german }), null)
  t.equal(scored(languageConsistency, { prompt: 'Résous.', response: english }), null, 'too short to be sure')
  t.equal(scored(languageConsistency, { prompt: '解方程 x + 2 = 5', response: chinese })?.value, 1)
  t.equal(scored(languageConsistency, { response: 'Hallo', options: { language: 'de' } })?.value, 1)
  t.throws(() => row(languageConsistency, { options: { language: 'xx' } }))
  t.throws(() => row(languageConsistency, { groundTruth: 'German', options: { language: 'ground_truth' } }))
})

t.test('code, formulas and addresses are in no language', async (t) => {
  const response = `${german}\n\`\`\`python\nprint("the answer is forty-two because of the jars")\n\`\`\`
\\(\\text{where the sides are equal}\\) $\\text{and the rest is not}$ https://example.com/the-answer-is-here`
  t.equal(scored(languageConsistency, { response, options: { language: 'de' } })?.value, 1)
})

t.test('a mixed answer earns its share, or nothing below the bar', async (t) => {
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

t.test('hostile text costs little', async (t) => {
  nearLinear(t, (response) => scored(languageConsistency, { response, options: { language: 'en' } }))
})
