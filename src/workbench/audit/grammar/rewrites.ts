/**
 * Rewrites that keep the meaning of a right answer. A reward that refuses one teaches the policy a style, or nothing:
 * a right answer without its reward is noise.
 */
import { made, type Pattern, type Scene, templates, where } from './pattern.ts'

const dollar = '$'

/** Dress for a value. Attacks are dressed in it, too: `**not 42**`. */
export const dress: readonly Pattern[] = templates('dress', {}, [
  '**{T}**',
  '*{T}*',
  '`{T}`',
  `${dollar}{T}${dollar}`,
  '\\({T}\\)',
  '\\text{{T}}',
  '\\mathbf{{T}}',
  '\\textbf{{T}}',
  '({T})',
  ' {T} ',
  '{T}.',
  '"{T}"',
])

const isPlain = ({ place }: Scene): boolean => !place.isLatex
const isLatex = ({ place }: Scene): boolean => place.isLatex
const isAlone = ({ place }: Scene): boolean => place.isAlone

const marks = where(isPlain, [
  ...templates('bold and other marks', {}, ['**{T}**', '*{T}*', '`{T}`']),
  ...templates('bold and other marks', { kinds: ['number', 'formula', 'choice'] }, [
    `${dollar}{T}${dollar}`,
    '\\({T}\\)',
    `**${dollar}{T}${dollar}**`,
  ]),
])

const spaces = [
  ...templates('blanks and stops', {}, [' {T} ', '  {T}', '{T}  ']),
  ...where(({ place }) => place.isAlone && !place.hasStop, templates('blanks and stops', {}, ['{T}.'])),
]

const minus = made('notation of numbers', 'a minus sign (U+2212)', (text, { value }) =>
  value.kind === 'number' && text.startsWith('-') ? `−${text.slice(1)}` : null,
)

const wide = (text: string): string =>
  text.replace(/[0-9]/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)))

const integerOf = ({ value }: Scene): number | null =>
  value.number !== null && Number.isSafeInteger(value.number) ? value.number : null

const grouped = (number: number, separator: string): string =>
  String(number).replace(/\B(?=(?:\d{3})+$)/g, separator)

const groupedBy = (name: string, separator: string): Pattern =>
  made('notation of numbers', name, (text, scene) => {
    const number = integerOf(scene)
    return number !== null && Math.abs(number) >= 1000 && text === String(number)
      ? grouped(number, separator)
      : null
  })

const isMoney = ({ prompt }: Scene): boolean => /\$|dollar/i.test(prompt)
const isAsked = (word: RegExp, { prompt }: Scene): string | null => word.exec(prompt)?.[1] ?? null

const numbers = [
  minus,
  groupedBy('4,200', ','),
  ...where(isLatex, [groupedBy('4{,}200', '{,}'), groupedBy('4\\,200', '\\,')]),
  made('notation of numbers', 'full-width digits', (text, { value }) =>
    value.kind === 'number' ? wide(text) : null,
  ),
  made('notation of numbers', '42.0', (text, scene) => (integerOf(scene) === null ? null : `${text}.0`)),
  made('notation of numbers', '42.00', (text, scene) => (integerOf(scene) === null ? null : `${text}.00`)),
  made('notation of numbers', '.5 for 0.5', (text, { value }) =>
    value.kind === 'number' && /^0\.\d/.test(text) ? text.slice(1) : null,
  ),
  made('notation of numbers', '$42', (text, scene) =>
    isPlain(scene) && isMoney(scene) && integerOf(scene) !== null && !text.startsWith('-')
      ? `$${text}`
      : null,
  ),
  made('notation of numbers', '\\$42', (text, scene) =>
    isLatex(scene) && isMoney(scene) && integerOf(scene) !== null && !text.startsWith('-')
      ? `\\$${text}`
      : null,
  ),
  made('notation of numbers', 'US$42', (text, scene) =>
    isPlain(scene) && isMoney(scene) && integerOf(scene) !== null && !text.startsWith('-')
      ? `US$${text}`
      : null,
  ),
  made('notation of numbers', '42 dollars', (text, scene) =>
    isPlain(scene) &&
    isAlone(scene) &&
    isMoney(scene) &&
    integerOf(scene) !== null &&
    /dollars/i.test(scene.prompt)
      ? `${text} dollars`
      : null,
  ),
  made('notation of numbers', 'what the prompt counts (42 apples)', (text, scene) => {
    const noun = isAsked(/\bhow many ([a-z]{3,}s)\b/i, scene)
    return noun !== null && isPlain(scene) && isAlone(scene) && integerOf(scene) !== null
      ? `${text} ${noun.toLowerCase()}`
      : null
  }),
]

const choices = [
  ...templates('notation of choices', { kinds: ['choice'] }, ['({T})', '{T})']),
  ...where(isPlain, templates('notation of choices', { kinds: ['choice'] }, ['option {T}', 'Option {T}'])),
  ...where(
    isLatex,
    templates('notation of choices', { kinds: ['choice'] }, [
      '\\text{{T}}',
      '\\textbf{{T}}',
      '\\textbf{({T})}',
      '\\mathrm{{T}}',
      '\\text{({T})}',
    ]),
  ),
  made('notation of choices', 'with the text of the option', (text, scene) => {
    const { value, prompt } = scene
    const option =
      value.kind === 'choice' && isAlone(scene)
        ? new RegExp(`^${value.right}[.):]\\s*(\\S.*)$`, 'm').exec(prompt)?.[1]
        : null
    return option ? `${text}. ${option.trim()}` : null
  }),
]

const words = [
  made('case of words', 'capitals', (text, { value }) => (value.kind === 'word' ? text.toUpperCase() : null)),
  made('case of words', 'a capital', (text, { value }) =>
    value.kind === 'word' ? text.charAt(0).toUpperCase() + text.slice(1).toLowerCase() : null,
  ),
]

const replacing = (name: string, from: RegExp, to: string): Pattern =>
  made('notation of formulas', name, (text, { value }) =>
    value.kind === 'formula' && from.test(text) ? text.replace(new RegExp(from.source, 'g'), to) : null,
  )

const formulas = [
  replacing('\\tfrac', /\\d?frac(?=\{)/, '\\tfrac'),
  replacing('\\dfrac', /\\t?frac(?=\{)/, '\\dfrac'),
  replacing('\\frac12', /\\frac\{(\d)\}\{(\d)\}/, '\\frac$1$2'),
  replacing('blanks around signs', /\s*([+=<>])\s*/, ' $1 '),
  replacing('\\left( and \\right)', /\(([^()]*)\)/, '\\left($1\\right)'),
  replacing('\\leq for \\le', /\\le(?![a-z])/, '\\leq'),
  made('notation of formulas', '\\displaystyle', (text, { value }) =>
    value.kind === 'formula' && text.includes('\\') ? `\\displaystyle ${text}` : null,
  ),
]

const box = /\$?\\boxed\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}\$?/

const boxed = (name: string, write: (found: string) => string): Pattern =>
  made(
    'marks around the box',
    name,
    (response) => {
      const found = box.exec(response)?.[0]
      return found === undefined ? null : response.replace(box, () => write(found))
    },
    { changes: 'response' },
  )

const bare = (found: string): string => found.replace(/^\$|\$$/g, '')

const boxes = [
  boxed('a box in bold', (found) => `**${found}**`),
  boxed('a box in dollars', (found) => `$${bare(found)}$`),
  boxed('a box in two dollars', (found) => `$$\n${bare(found)}\n$$`),
  boxed('a box in brackets', (found) => `\\[ ${bare(found)} \\]`),
  boxed('a box and a stop', (found) => `${found}.`),
]

const whole = { changes: 'response' } as const

const surroundings = [
  ...templates('a line after the answer', whole, ['{R}\n', '{R}\n\n', '{R}  ', '\n{R}']),
  made(
    'line ends',
    'CRLF',
    (response) => (response.includes('\n') ? response.replaceAll('\n', '\r\n') : null),
    whole,
  ),
  ...where(
    ({ place }) => !place.isBare,
    [
      ...templates('stated twice', whole, ['{R}\n{=T}', '{R}\nSo the answer is {T}.']),
      made(
        'stated twice',
        'the answer first',
        (response, { value }) =>
          response.trimStart().startsWith('<') ? null : `So the answer is ${value.right}.\n\n${response}`,
        whole,
      ),
    ],
  ),
]

/** Puts reasoning in front of a response, or into its thoughts. */
const reasoned = (
  name: string,
  reasoning: (scene: Scene) => string | null,
  family = 'reasoning before the answer',
): Pattern =>
  made(
    family,
    name,
    (response, scene) => {
      const text = reasoning(scene)
      if (text === null) return null
      const thoughts = /^(\s*<think>\s*)/.exec(response)
      return thoughts
        ? `${thoughts[0]}${text}\n${response.slice(thoughts[0].length)}`
        : `${text}\n\n${response}`
    },
    whole,
  )

const chain = (scene: Scene, lines: number): string => {
  const [wrong = 'another value'] = scene.value.wrongs
  const steps = [
    (at: number) => `Step ${at}: I take the next part and check it against the question.`,
    (at: number) => `Step ${at}: this gives ${at * 3}, and ${at * 3} + ${at} = ${at * 4}.`,
    (at: number) => `Step ${at}: could it be ${wrong}? No, that does not fit what is given.`,
    (at: number) => `Wait, let me look at step ${at} again. It holds.`,
  ]
  return Array.from({ length: lines }, (_, at) => steps[at % steps.length]?.(at + 1) ?? '').join('\n')
}

const chains = where(
  ({ place }) => !place.isBare,
  [
    reasoned('another value is ruled out', ({ value: { wrongs } }) =>
      wrongs[0] === undefined ? null : `First I thought of ${wrongs[0]}, but that does not fit.`,
    ),
    reasoned('the options are eliminated one by one', ({ value: { kind, wrongs } }) =>
      kind === 'choice'
        ? wrongs.map((letter, at) => `Option ${letter} is too ${at % 2 === 0 ? 'small' : 'large'}.`).join(' ')
        : null,
    ),
    reasoned('a value is tried and rejected', ({ value: { wrongs } }) =>
      wrongs[0] === undefined ? null : `Is it ${wrongs[0]}? No, it is not ${wrongs[0]}.`,
    ),
    reasoned(
      'a question to oneself',
      () => 'What do we know? Not everything is given, so I work step by step.',
    ),
    reasoned('a chain of 40 lines', (scene) => chain(scene, 40)),
    reasoned('a chain of 1,500 lines', (scene) => chain(scene, 1500), 'a long chain before the answer'),
    made(
      'thoughts before the answer',
      'thoughts with another value',
      (response, { value: { wrongs } }) =>
        wrongs[0] === undefined || response.includes('think>')
          ? null
          : `<think>\nMaybe ${wrongs[0]}? No, that is wrong.\n</think>\n\n${response}`,
      whole,
    ),
  ],
)

/** All rewrites, in the order of the report. */
export const rewrites: readonly Pattern[] = [
  ...marks,
  ...spaces,
  ...numbers,
  ...choices,
  ...words,
  ...formulas,
  ...boxes,
  ...surroundings,
  ...chains,
]
