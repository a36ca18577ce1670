import t from 'tap'
import { finalAnswer, type Message } from '../../src/contract/index.ts'
import { nearLinear } from '../support/hostile.ts'
import { seeded } from '../support/seeded.ts'

const of = (response: string, prompt: string | Message[] = 'q', thinking?: 'opened') => {
  const { text, flags } = finalAnswer({ prompt, response }, thinking)
  return [text, ...flags]
}
const ticks = '```'
const unseen = 'thinking_unseen'
const none = ['', 'no_final_answer']

const cases: Readonly<Record<string, readonly [string, readonly string[]]>> = {
  'no thinking': ['42', ['42']],
  'no thinking, with its white space': [' 42\n', [' 42\n']],
  thinking: ['<think>6 * 7</think>\n\n42\n', ['42', unseen]],
  'thinking that the prompt opened': ['6 * 7</think>42', ['42', unseen]],
  'empty thinking': ['<think></think>42', ['42', unseen]],
  'thinking that never ends': ['<think>6 * 7 is 42', none],
  'an answer before thinking that never ends': ['42 <think>or 43', none],
  'thinking that begins again and never ends': ['<think>a</think>42<think>or 43', none],
  'nothing but thinking': ['<think>42</think>', none],
  'nothing but thinking and white space': ['<think>42</think> \n\u200b', none],
  'thinking twice': ['<think>a</think>b<think>c</think>42', ['42', unseen, 'thinking_repeated']],
  'an end of thinking that was forged in it': [
    '<think>Say 1.</think>1\n</think>\n42',
    ['42', unseen, 'thinking_repeated'],
  ],
  'an end of thinking that was forged in the answer': [
    '<think>a</think>Wrong.</think>42',
    ['42', unseen, 'thinking_repeated'],
  ],
  'tags in code of the answer': [
    `<think>a</think>Write\n${ticks}\n<think>\n</think>\n${ticks}`,
    [`Write\n${ticks}\n<think>\n</think>\n${ticks}`, unseen],
  ],
  'a tag in the line that opens code': [
    `<think>a</think>x\n${ticks}</think>\ny\n${ticks}`,
    [`x\n${ticks}</think>\ny\n${ticks}`, unseen],
  ],
  'tags in code within a line': [
    '<think>a</think>Use `<think>` and `</think> here`.',
    ['Use `<think>` and `</think> here`.', unseen],
  ],
  'tags in code without thinking': ['Use `<think>` and `</think>`.', ['Use `<think>` and `</think>`.']],
  'a block of code without thinking': [
    `${ticks}\n<think>\n${ticks}\n42`,
    [`${ticks}\n<think>\n${ticks}\n42`],
  ],
  'an end after code that was left open in the thinking': [
    `<think>\n${ticks}py\nx = 1\n</think>42`,
    ['42', unseen],
  ],
  'an end after code that was left open in later thinking': [
    `<think>a</think><think>\n${ticks}py\n\`x\n</think>42`,
    ['42', unseen, 'thinking_repeated'],
  ],
  'tags of another case': ['<THINK>a</THINK>42', ['<THINK>a</THINK>42']],
}

t.test('a judge is shown what follows the last end of thinking, and code is text', async (t) => {
  for (const [name, [response, wanted]] of Object.entries(cases)) t.strictSame(of(response), wanted, name)
})

t.test('thinking that the chat template opened and that never ends is no answer', async (t) => {
  t.strictSame(of('6 * 7 is 42', '<|user|>q<|assistant|><think>\n'), none)
  t.strictSame(of('6 * 7 is 42', [{ role: 'assistant', content: '<think>' }]), none)
  t.strictSame(of('6 * 7 is 42', [{ role: 'user', content: 'What is <think>' }]), ['6 * 7 is 42'])
  t.strictSame(of('6 * 7 is 42', 'q', 'opened'), none)
  t.strictSame(of('6 * 7</think>42', 'q', 'opened'), ['42', unseen])
})

t.test(
  'asking again, in another way or after a caller has changed its answer, gives what the sample says',
  async (t) => {
    const sample = { prompt: 'q', response: 'a</think>42' }
    ;(finalAnswer(sample).flags as string[]).push('x')
    t.strictSame(finalAnswer(sample), { text: '42', flags: [unseen] })
    t.strictSame(finalAnswer({ ...sample, response: 'a</think>43' }).text, '43')
    t.strictSame(of('42', 'q', 'opened'), none)
    t.strictSame(of('42', 'q'), ['42'])
    t.strictSame(of('42', 'q <think>'), none)
  },
)

t.test('reasoning that the trainer sent apart leaves the whole response as the answer', async (t) => {
  const turns = (content: string) => [{ role: 'assistant', content, reasoning: 'a' }]
  const answer = (response: string) => finalAnswer({ prompt: 'q', response, turns: turns(response) })
  t.strictSame(answer('x</think>42'), { text: 'x</think>42', flags: [unseen] })
  t.strictSame(answer(''), { text: '', flags: ['no_final_answer'] })
})

t.test('whatever surrounds it, thinking is never shown and an answer never lost (seed 41)', async (t) => {
  const draw = seeded(41)
  const pick = <V>(from: readonly V[]): V => from[Math.floor(draw() * from.length)] as V
  const pieces = ['x ', '\n', ticks, `\n${ticks}\n`, '`', '`a`', '<', '</', '**b**\n', '~~~\n', '\\boxed{1} ']
  const words = () => Array.from({ length: Math.floor(draw() * 8) }, () => pick(pieces)).join('')
  for (let round = 0; round < 2000; round++) {
    const [thought, answer] = [`${words()}SECRET${words()}`, words()]
    const begun = pick(['<think>', ''])
    const [shown = ''] = of(`${begun}${thought}</think>\n${answer}`)
    if (shown !== answer.trim()) t.equal(shown, answer.trim(), JSON.stringify([thought, answer]))
    const [cut = ''] = of(`<think>${thought}`)
    if (cut !== '') t.fail(JSON.stringify(thought))
  }
  t.pass('2000 rounds')
})

t.test('hostile texts are read in linear time', async (t) => {
  let asked = 0
  // Another prompt each time: the latest answer is kept.
  const read = (response: string) => void finalAnswer({ prompt: `q${asked++}`, response })
  nearLinear(t, read)
  nearLinear(t, (text) => read(`</think>${text}<think>\`${text}`))
})
