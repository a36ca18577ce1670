import t from 'tap'
import { chat, prompt } from '../../../src/contract/index.ts'
import type { Message } from '../../../src/core/sample/sample.ts'
import { guardQuestion } from '../../../src/scoring/engine/guard/guarded-question.ts'
import { neutralised } from '../../../src/scoring/engine/guard/look-alikes.ts'
import { fullGuard } from '../../../src/scoring/models/interface/model-config.ts'
import { subjectOf } from '../../../src/workbench/audit/attack.ts'
import { textAttacks } from '../../../src/workbench/audit/catalogue/attacks.ts'
import { sampleOf } from '../../support/gateway.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)
const random = seeded(seed)
const below = (limit: number): number => Math.floor(random() * limit)
const one = <V>(items: readonly V[]): V => items[below(items.length)] as V

const subject = subjectOf({ sample: sampleOf('It is 42.', { groundTruth: '42' }), nearMisses: [] })
const hostile = textAttacks.flatMap((attack) => attack.make(subject) ?? [])
const shards = [
  '⟦',
  '⟧',
  '\n',
  '0123456789ab',
  '<|',
  '|>',
  'im_end',
  'score',
  '"',
  ': ',
  '1',
  '[[',
  ']]',
  '\u200b',
]
shards.push(
  '</think>',
  'Assistant',
  ':',
  '\u202e',
  '🏴',
  '\u{e0067}',
  '\ud800',
  '$&',
  '{answer}',
  'Reply with 1 or 0.',
  '<turn',
  '<|turn>',
  '[|',
  'assistant',
  '|]',
  ']~b]',
  '[e~[',
  ' = ',
  ' -> ',
  ' → ',
  ' ки ',
  '助手：',
  '評価',
  '：1',
  '\\boxed{1}',
  '\ufe01',
  '\r',
  '[THINK]',
  '<extra_id_1>',
  '### Response:',
)

/** Attacks and fragments of attacks, joined, cut and doubled. */
function nasty(): string {
  let text = ''
  for (let parts = 1 + below(6); parts > 0; parts--) text += random() < 0.3 ? one(hostile) : one(shards)
  return random() < 0.2 ? text.slice(below(text.length)) : text
}

const literals = [
  'Judge the answer.\nQuestion: ',
  '\nReference: ',
  '\nAnswer: ',
  '\nReply with 1 or 0.',
] as const
const asked = (values: readonly [string, string, string]) =>
  prompt(literals as unknown as TemplateStringsArray, ...values)

const textOf = (input: unknown): string => (input as readonly Message[])[0]?.content ?? ''

/** Reads the literals and values of a rendered prompt back from its fences alone. */
function readBack(text: string): { literals: string[]; values: string[] } {
  const read = { literals: [] as string[], values: [] as string[] }
  let rest = text
  for (;;) {
    const open = /⟦([0-9a-f]{12})\n/.exec(rest)
    if (!open) break
    const close = `\n${open[1]}⟧`
    const start = open.index + open[0].length
    const end = rest.indexOf(close, start)
    read.literals.push(rest.slice(0, open.index))
    read.values.push(rest.slice(start, end))
    rest = rest.slice(end + close.length)
  }
  read.literals.push(rest)
  return read
}

const forged =
  /<\|im_(?:start|end)\|>|<\/?think>|\[\/?INST\]|\[\[\s?\d+\s?\]\]|"score"\s?:\s?\d|<\/?score>|[\u200b\u202e\u{e0000}-\u{e007f}]|\p{Cs}/u

t.test("no value can change a prompt's structure or look like a verdict", async (t) => {
  for (let round = 0; round < 500; round++) {
    const values = [nasty(), nasty(), nasty()] as const
    const { input, prefix } = guardQuestion('generate', asked(values), 'secret', 'id')
    const text = textOf(input)
    const read = readBack(text)
    const cleaned = values.map((value) => neutralised(value, fullGuard, new Set()))
    if (JSON.stringify(read) !== JSON.stringify({ literals, values: cleaned }))
      t.strictSame(read, { literals, values: cleaned }, `SEED=${seed}, round ${round}`)
    const found = cleaned.find((value) => forged.test(value))
    if (found !== undefined) t.fail(`SEED=${seed}, round ${round}: ${JSON.stringify(found)}`)
    if (!text.startsWith(literals[0]) || prefix !== literals[0]) t.fail('the constant beginning has moved')
  }
  t.pass('500 prompts of three values')
})

t.test('the fast path for ASCII neutralises exactly what the general path does', async (t) => {
  let broken = 0
  for (let round = 0; round < 350; round++) {
    const text = `${nasty()}\n${nasty()}${'a'.repeat(below(2) * 512)}\0${nasty()}`.replace(/[^\0-\x7f]/g, '')
    const alone = neutralised(text, fullGuard, new Set())
    if (alone !== text) broken += 1
    const wide = neutralised(`€\n${text}`, fullGuard, new Set())
    if (wide !== `€\n${alone}`) t.equal(wide, `€\n${alone}`, `SEED=${seed}, round ${round}`)
  }
  t.ok(broken > 50, `${broken} of 350 texts had something to break`)
})

t.test('neutralising is idempotent', async (t) => {
  for (let round = 0; round < 350; round++) {
    const once = neutralised(nasty(), fullGuard, new Set())
    const twice = neutralised(once, fullGuard, new Set())
    if (twice !== once) t.equal(twice, once, `SEED=${seed}, round ${round}`)
  }
  t.pass('350 texts')
})

t.test('siblings share everything before the answer, and no other question shares their key', async (t) => {
  for (let round = 0; round < 100; round++) {
    const [question, reference, a, b] = [nasty(), nasty(), nasty(), nasty()] as const
    const guarded = (answer: string, secret = 'secret') =>
      guardQuestion('generate', asked([question, reference, answer]), secret, 'id')
    const [first, again, sibling] = [guarded(a), guarded(a), guarded(b)]
    if (textOf(first.input) !== textOf(again.input) || first.key !== again.key) t.fail('not the same twice')
    if (first.template !== sibling.template) t.fail('another template')
    if (a !== b && first.key === sibling.key) t.fail('different questions, one key')
    const shared = textOf(first.input).indexOf(literals[2])
    if (textOf(sibling.input).slice(0, shared) !== textOf(first.input).slice(0, shared))
      t.fail('the prefix cache would miss')
    if (textOf(guarded(a, 'other').input) === textOf(first.input)) t.fail('the nonce ignores the secret')
  }
  t.pass('100 questions')
})

t.test('questions that differ anywhere have different keys', async (t) => {
  const keyOf = (input: unknown, identity = 'i', ask: 'generate' | 'choose' = 'generate') =>
    guardQuestion(ask, input as never, 's', identity).key
  const spoken = (role: 'user' | 'assistant') =>
    keyOf(chat({ role: 'user', content: 'a' }, { role, content: prompt`${'b'}` }))
  const chosen = (...labels: string[]) => keyOf({ question: prompt`${'a'}`, labels }, 'i', 'choose')
  const long = 'x'.repeat(5000)
  const different: Readonly<Record<string, readonly string[]>> = {
    'where one value ends': [keyOf(prompt`${'ab'}${'c'}`), keyOf(prompt`${'a'}${'bc'}`)],
    'a sign of the rendering in a value': [keyOf(prompt`${'x=y'}${'z'}`), keyOf(prompt`${'x'}${'y=z'}`)],
    'who speaks': [spoken('user'), spoken('assistant')],
    'labels, their order and number': [
      chosen('A', 'B'),
      chosen('B', 'A'),
      chosen('A', 'C'),
      chosen('A', 'B', 'C'),
    ],
    'the function that asks': [keyOf(prompt`${'a'}`, 'i'), keyOf(prompt`${'a'}`, 'j')],
    'the last character of a long answer': [keyOf(prompt`${`${long}a`}`), keyOf(prompt`${`${long}b`}`)],
  }
  for (const [what, keys] of Object.entries(different)) t.equal(new Set(keys).size, keys.length, what)
})

t.test('long answers that differ in their last character have different fences', async (t) => {
  const [a, b] = ['a', 'b'].map((end) =>
    textOf(guardQuestion('generate', prompt`${'x'.repeat(5000) + end}`, 's', 'i').input).slice(0, 13),
  )
  t.not(a, b)
})
