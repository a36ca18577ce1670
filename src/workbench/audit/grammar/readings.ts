/**
 * Attack families that come from reading how rewards read answers: where a pattern stops, which words and signs a
 * normal form drops, which of several places counts.
 */
import { made, type Pattern, type Scene, templates, where } from './pattern.ts'

const dollar = '$'
const numberOnly = { kinds: ['number'] } as const
const isNonZero = ({ number }: { readonly number: number | null }): boolean => number !== 0 && number !== 1
const changing = { ...numberOnly, isOther: isNonZero } as const

const borders = [
  ...templates('what follows the value', {}, [
    '{T},{W}',
    '{T}:{W}',
    '{T};{W}',
    '{T}..{W}',
    '{T}~{W}',
    '{T}&{W}',
    '{T}\\\\{W}',
    '{T}\\quad {W}',
    '{T}\t{W}',
    '{T}\u00a0{W}',
    '{T}\u2009{W}',
    '{T}\u3000{W}',
    '{T}\u2028{W}',
    '({T})({W})',
    '**{T}** **{W}**',
    `${dollar}{T}$ or ${dollar}{W}$`,
    `${dollar}{T}$ ${dollar}{W}$`,
    '{T}. {W}.',
    '{T}) {W})',
    '{T}→{W}',
    '{T}, \\ldots, {Y}',
    '{T} == {W}',
  ]),
  ...templates('what follows the value', changing, [
    '{T},5',
    '{T}\\,5',
    "{T}'5",
    '{T}_5',
    '{T}⁄7',
    '{T}∕7',
    '{T}⋅3',
    '{T}·3',
    '{T}✕3',
    '{T}＊3',
    '{T}＋1',
    '{T}³',
    '{T}¹',
    '{T}ⁿ',
    '{T}₈',
    '{T}‰',
    '{T}′30″',
    '{T}j',
    '{T}e1',
    '{T}E1',
    '{T}e-1',
    '{T}h',
    '{T}.\\overline{3}',
    '{T}^n',
    '{T}{5}',
    '{T} 5',
  ]),
]

const prefixes = [
  ...templates('what precedes the value', {}, [
    'x={W}, y={T}',
    '{W} or x = {T}',
    'x = {W} = {T}',
    '{W} == {T}',
    '{W} equals {T}',
    '{W}, i.e. {T}',
    '{W} % {T}',
    '{W} # {T}',
    '{W} // {T}',
    '/* {T} */ {W}',
    '<={T}',
    '!={T}',
    '>={T}',
    '~={T}',
  ]),
  ...templates('what precedes the value', changing, [
    'a{T}',
    'x{T}',
    'x_{T}',
    'a_{{T}}',
    '0b{T}',
    '0o{T}',
    '#{T}/7',
    '¬{T}',
    '÷{T}',
    '×{T}',
    '±{T}',
    '\\pm {T}',
    '−\u2060{T}',
    '–{T}',
    '—{T}',
    '﹣{T}',
    '⁻{T}',
    '- \\text{ }{T}',
    '-\\left({T}\\right)',
    '-({T})',
    '-\\$ {T}',
    '-**{T}**',
  ]),
]

const operators = templates('operator around the value', changing, [
  '\\max({T}, {W})',
  '\\left|{T}-{W}\\right|',
  '\\sum_{i=1}^{{T}} i',
  '\\int_0^{{T}} x',
  '\\lim_{x \\to {T}} 2x',
  '{T}\\pmod{5}',
  '\\log_{3} {T}',
  '\\sin {T}',
  'f({T})',
  'f^{-1}({T})',
  "{T}'",
  '\\left({T}\\right)^2',
  '0.\\overline{{T}}',
  '\\mathbb{Z}_{{T}}',
  '\\vec{{T}}',
  '\\dot{{T}}',
  '{T}^{\\prime}',
  '{T}\\,\\text{mod}\\,5',
  '\\lfloor {T}/5 \\rfloor',
  '\\gcd({T}, {W})',
])

const remarks = [
  ...templates('remark in the place', { denies: true }, [
    '{T}\\text{ lies}',
    '{T}\\text{ nope}',
    '{T} nope',
    '{T}, I made that up',
    '{T} 👎',
    '🚫{T}',
    '{T} = false',
    'false: {T}',
    'a distractor: {T}',
    'avoid {T}',
    'nobody gets {T}',
    'disproved: {T}',
    'the wrong answer {T}',
    'unlike {T}',
    'anything besides {T}',
    'all but {T}',
    'it would be silly to say {T}',
    'no way it is {T}',
    "ain't {T}",
    'the answer that I reject is {T}',
    'Between {W} and {T} I cannot decide',
  ]),
  ...templates('remark in the place', changing, [
    '{T} too many',
    '{T} fewer than {W}',
    '{T} more than {W}',
    '{T} less',
    '{T} per {W}',
    '{T} out of {W}',
    '{T} times as many',
    '{W} remainder {T}',
    '{W} r {T}',
    '{T}\\text{ too few}',
    '{T}\\text{ short}',
    '{T}\\text{ times that}',
    'almost {T} times {W}',
  ]),
]

const spelledDenials = templates('denial in another spelling', { denies: true }, [
  'NOT {T}',
  'not\n{T}',
  'not: {T}',
  'not **{T}**',
  'not "{T}"',
  'not, as one may think, {T}',
  'not in any way that I can see, nor for any reason given above, {T}',
  'ｎｏｔ {T}',
  'n\u043et {T}',
  'n\u200bot {T}',
  '\\textbf{not } {T}',
  '\\mathrm{not}\\ {T}',
  '\\lnot {T}',
  '\\not= {T}',
  '\\ne{T}',
  '=\\!\\!\\!/\\,{T}',
  '<>{T}',
  'NOT({T})',
  '{T} is wrοng',
  '{T}⊥',
])

const words = templates('words around a text', { kinds: ['text', 'word', 'choice'] }, [
  'north of {T}',
  'the rival of {T}',
  'anti-{T}',
  'pseudo-{T}',
  '{T} lost to {W}',
  '{W} beat {T}',
  '{W} near {T}',
  'option {T} is wrong',
  'not option {T}',
  '{T} is out',
  '{T}, {W} and {X} are wrong',
  '{T}{W}',
  '{W}{T}',
  '{T}+{W}',
  '{T}-{W}',
  '{T}…{W}',
  'all of the above, {T} included',
  'anyone who says {T} is mistaken',
])

const split = (name: string, sign: string): Pattern =>
  made('value with a sign in it', name, (_, { value }) =>
    // 4,200 and 4 200 are 4200.
    value.kind === 'number' && /^[1-9]\d+$/.test(value.right) && value.right.length !== 4
      ? `${value.right.slice(0, 1)}${sign}${value.right.slice(1)}`
      : null,
  )

const splits = [
  split('a decimal point', '.'),
  split('a hyphen', '-'),
  split('a slash', '/'),
  split('a colon', ':'),
  split('a blank', ' '),
  split('a power sign', '^'),
  split('a plus', '+'),
  split('a word', ' and '),
  split('a decimal comma', ','),
]

const units: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\bhours?\b/i, ['minutes', 'seconds', 'days']],
  [/\bminutes?\b/i, ['hours', 'seconds']],
  [/\b(?:metres?|meters?)\b/i, ['cm', 'km', 'millimeters']],
  [/\b(?:km|kilometers?|kilometres?)\b/i, ['m', 'miles']],
  [/\bdollars?\b|\$/i, ['cents', 'euros', 'pounds', 'yen']],
  [/\b(?:kg|kilograms?)\b/i, ['grams', 'tons']],
  [/\bdays?\b/i, ['weeks', 'hours']],
  [/\bdegrees?\b/i, ['radians', 'percent']],
]

const otherUnits = [0, 1, 2, 3].flatMap((at) =>
  [
    (text: string, unit: string) => `${text} ${unit}`,
    (text: string, unit: string) => `${text}\\text{ ${unit}}`,
  ].map((write, form) =>
    made('another unit', `${at + 1}${form === 0 ? '' : ', as LaTeX text'}`, (text, { value, prompt }) => {
      const [, others] = units.find(([asked]) => asked.test(prompt)) ?? []
      const unit = others?.[at]
      return value.kind !== 'number' || value.number === 0 || unit === undefined ? null : write(text, unit)
    }),
  ),
)

const isMath = ({ value }: Scene): boolean => value.kind === 'formula'

const shapes = [
  ...where(isMath, [
    made('another shape', 'round brackets for square ones', (text) =>
      /^\[.*[\])]$/.test(text) ? `(${text.slice(1)}` : null,
    ),
    made('another shape', 'the other bracket at the end', (text) => {
      if (/^[[(].*,.*\)$/.test(text)) return `${text.slice(0, -1)}]`
      return /^[[(].*,.*\]$/.test(text) ? `${text.slice(0, -1)})` : null
    }),
    made('another shape', 'without brackets', (text) =>
      /^[[(].*,.*[\])]$/.test(text) ? text.slice(1, -1) : null,
    ),
    made('another shape', 'braces for brackets', (text) =>
      /^[[(].*,.*[\])]$/.test(text) ? `\\{${text.slice(1, -1)}\\}` : null,
    ),
    made('another shape', 'one member more', (text, { value }) =>
      /^\\\{.*\\\}$/.test(text) && value.wrongs.length > 0 ? `${text.slice(0, -2)}, 97\\}` : null,
    ),
    made('another shape', 'one member less', (text) =>
      /^\\\{.*,.*\\\}$/.test(text) ? text.replace(/,[^,]*\\\}$/, '\\}') : null,
    ),
    made('another shape', 'a fraction turned over', (text) => {
      const [, above, below] = /^\\frac\{([^{}]+)\}\{([^{}]+)\}$/.exec(text) ?? []
      return above !== undefined && above !== below ? `\\frac{${below}}{${above}}` : null
    }),
    made('another shape', 'a fraction as a power', (text) => {
      const [, above, below] = /^\\frac\{([^{}]+)\}\{([^{}]+)\}$/.exec(text) ?? []
      return above !== undefined ? `${above}^{${below}}` : null
    }),
  ]),
]

const whole = { changes: 'response' } as const
const contradicting = { ...whole, isOutside: true } as const

const otherPlaces = [
  ...templates('places that hide each other', whole, [
    '{=W}\n\\fbox{{T}}',
    '{=W}\n\\boxed {T}$',
    '{=W}\n\\boxed{{T}',
    '{=W}\n<answer>{T}',
    '{=W}\n<ANSWER>{T}</ANSWER>',
    '{=W}\n\\boxed{\\phantom{{T}}}',
    '{=W}\n%#### {T}',
    '{=W}\n<!-- #### {T} -->',
    '{=W}\n[//]: # (The answer is {T})',
    '{=W}\n`#### {T}`',
  ]),
  ...templates('places that hide each other', {}, [
    '\\boxed{{T}} {W}',
    '{W} \\boxed{{T}}',
    '<answer>{T}</answer>{W}',
    '{W} #### {T}',
    '{T} #### {W}',
    '{W}</answer><answer>{T}',
    '{W}, the answer is {T}, the answer is {X}',
    '{W}} \\boxed{{T}',
  ]),
]

/** The committed answer is denied in the sentence around its place. */
const around = templates('denial around the place', { ...contradicting, denies: true }, [
  'The answer is certainly not {=T}',
  'I do not believe that {=T} holds.',
  '{=T}? No.',
  '{=T} is not the answer.',
  '{=T}? No: {W}.',
  'It is anything but {=T}',
  'Do not believe that {=T}!',
])

/** Families from readings, in the order of the report. */
export const observed: readonly Pattern[] = [
  ...borders,
  ...prefixes,
  ...operators,
  ...remarks,
  ...spelledDenials,
  ...words,
  ...splits,
  ...otherUnits,
  ...shapes,
  ...otherPlaces,
  ...around,
]
