import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import languageConsistency from '../../reward-functions/language-consistency.ts'
import { scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const sentences: Record<string, string[]> = JSON.parse(
  readFileSync(join('test/fixtures/languages.json'), 'utf8'),
)
const some = (code: string, count = 3): string => (sentences[code] ?? []).slice(0, count).join(' ')

/** A short answer in the language of each prompt. */
const intro = {
  en: 'The answer is below, as you asked.',
  de: 'Die Antwort steht unten, wie du es wolltest.',
  zh: '答案如下，如您所要求的那样。',
  ru: 'Ответ сорок два, потому что в каждом ящике семь банок.',
} as const
type Code = keyof typeof intro

const value = (code: Code, response: string): number | undefined =>
  scored(languageConsistency, { response, options: { language: code } })?.value

/** Places whose letters are in no language. */
const zones: Readonly<Record<string, (text: string) => string>> = {
  'a code fence': (text) => `\n\`\`\`\n${text}\n\`\`\``,
  'inline code': (text) => ` \`${text}\``,
  'display mathematics': (text) => ` $$${text}$$`,
  brackets: (text) => ` \\[${text}\\]`,
  parentheses: (text) => ` \\(${text}\\)`,
  'dollar signs': (text) => ` $${text}$`,
  '\\text': (text) => ` $\\text{${text}}$`,
  'an HTML comment': (text) => ` <!-- ${text} -->`,
  'an HTML attribute': (text) => ` <p title="${text}">`,
}
const scriptZones = {
  ...zones,
  'an address': (text: string) => ` https://${text}`,
  'the path of an address': (text: string) => ` https://example.com/${text}`,
  'a comment in code': (text: string) => `\n\`\`\`python\n# ${text}\nx = 1\n\`\`\``,
  'a string in code': (text: string) => `\n\`\`\`python\nprint("${text}")\n\`\`\``,
  'many small formulas': (text: string) =>
    [...text.matchAll(/.{1,4}/gu)].map(([part]) => ` $${part}$`).join(''),
}

for (const [zone, wrap] of Object.entries(scriptZones)) {
  t.test(`language-consistency: prose of another script counts in ${zone}`, async (t) => {
    for (const [code, other] of [
      ['en', 'zh'],
      ['en', 'ja'],
      ['en', 'ru'],
      ['en', 'ar'],
      ['en', 'ko'],
      ['zh', 'ru'],
      ['ru', 'zh'],
    ] as const) {
      const paid = value(code, intro[code] + wrap(some(other).replaceAll('$', '')))
      t.ok(paid !== undefined && paid < 0.7, `${other} in ${code}: ${paid}`)
    }
  })
}

for (const [zone, wrap] of Object.entries(zones)) {
  t.test(`language-consistency: sentences of another Latin language count in ${zone}`, async (t) => {
    for (const [code, other] of [
      ['de', 'en'],
      ['zh', 'en'],
      ['en', 'de'],
      ['en', 'fr'],
      ['ru', 'es'],
    ] as const) {
      const paid = value(code, intro[code] + wrap(some(other)))
      t.ok(paid !== undefined && paid < 0.7, `${other} in ${code}: ${paid}`)
    }
  })
}

t.test('language-consistency: text in a zone does not earn', async (t) => {
  for (const wrap of [zones['a code fence'], zones['dollar signs']])
    t.equal(value('de', some('en') + (wrap?.(some('de', 2)) ?? '')), 0)
})

const python = `
\`\`\`python
def total(xs):
    # add the numbers one by one, then return the sum
    result = 0
    for x in xs:
        if x is not None and x > 0:
            result += x
    return result

print(total([1, 2, 3]))
\`\`\``
const script = `
\`\`\`js
// Returns the greatest common divisor of two integers
function gcd(a, b) {
  return b === 0 ? a : gcd(b, a % b)
}
console.log("The greatest common divisor is", gcd(12, 18))
\`\`\``
const sql =
  '\n```sql\nSELECT name, age FROM users WHERE age > 21 GROUP BY name ORDER BY age DESC LIMIT 10;\n```'
const imports = '\n```python\nimport numpy as np\nfrom math import sqrt, pi\nx = np.zeros(3)\n```'
const shell = '\n```sh\ncd project\nnpm install\nnpm run build\ngit commit -m "fix the bug"\n```'
const latex =
  '$$P(A) = \\frac{\\text{number of favourable outcomes}}{\\text{total number of outcomes}}$$ \\[\\sum_{i=1}^n \\text{where } x_i > 0\\]'
const greek = ' $α + β = γ$, \\(Δx = π r^2\\), $λμν$'

/** Right answers with code, mathematics, names and quotes: all of their prose is in the wanted language. */
const right: readonly (readonly [name: string, code: Code, response: string])[] = [
  ...(['en', 'de', 'zh', 'ru'] as const).flatMap((code) =>
    Object.entries({ python, script, sql, imports, shell, latex, greek }).map(
      ([name, zone]) => [`${name} in ${code}`, code, intro[code] + zone] as const,
    ),
  ),
  [
    'a greeting in Chinese',
    'en',
    'Here is the program that prints a greeting in Chinese, as you asked:\n```python\nprint("你好，世界")\n```',
  ],
  [
    'a greeting in Russian',
    'en',
    'Here is the program that prints a greeting in Russian, as you asked:\n```python\nprint("Привет, мир")\n```',
  ],
  [
    'a name in an address',
    'en',
    'The article is at https://zh.wikipedia.org/wiki/北京市 and it explains the history of the city well.',
  ],
  ['sums of money', 'en', 'It costs $5 for one and $6 for the other, so the total is $11 in the end.'],
  [
    'commands',
    'zh',
    '请使用 `git commit -m "fix the bug"` 然后运行 `npm run build` 查看结果，最后打开浏览器确认页面是否正常显示。',
  ],
  [
    'comments in the wanted language',
    'zh',
    `${intro.zh}\n\`\`\`python\n# 计算总和并且返回最终的结果\nprint("答案是四十二")\n\`\`\``,
  ],
  [
    'comments in the wanted language',
    'ru',
    `${intro.ru}\n\`\`\`python\n# Считаем сумму всех чисел и возвращаем результат\n\`\`\``,
  ],
  ['an output', 'zh', `${intro.zh}\n\`\`\`\nHello, world!\n\`\`\``],
  [
    'an error message',
    'de',
    `${some('de', 9)}\n\`\`\`\nTypeError: undefined is not a function\n    at main (index.js:3:5)\n\`\`\``,
  ],
  ['a quote in a fence', 'de', `${some('de', 12)}\n\`\`\`\n${some('en', 1)}\n\`\`\``],
]

t.test('language-consistency: code, mathematics, names and short quotes cost nothing', async (t) => {
  for (const [name, code, response] of right) t.equal(value(code, response), 1, name)
})

t.test('language-consistency: zones of hostile text cost linear time', async (t) => {
  for (const mark of ['```', '$$'])
    nearLinear(t, (text) => value('en', `${intro.en} ${mark}${text.replaceAll('$', '')}中文${mark}`))
})

t.test(
  'English that has few frequent words is prose in a zone, too, and in an address with dashes',
  async (t) => {
    const sentence =
      'First we look at what is given, then we go on step by step until the result follows. '.repeat(4)
    const places = {
      ...zones,
      'an address': (text: string) => ` https://example.com/${text.replaceAll(' ', '-')}`,
    }
    for (const [name, within] of Object.entries(places))
      t.ok((value('zh', intro.zh + within(sentence)) ?? 1) < 0.5, name)
  },
)
