import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lastUserText } from '../../src/contract/last-user-text.ts'
import { separate } from '../../src/wire/chat/separate.ts'
import type { Truths } from '../../src/wire/truths.ts'
import { cpuMs } from '../support/cpu.ts'

interface Rendered {
  readonly template: string
  readonly system: string
  readonly user: string
  /** Up to the policy's turn: with a system prompt, without one, and after an earlier turn of the policy's. */
  readonly single: string
  readonly bare: string
  readonly several: string
  readonly end: string
  readonly pad: string
}

// render-templates.py beside it makes this file with the templates of LLaMA-Factory's package.
const families = readFileSync(join('test/fixtures/wire/chat-templates.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line): Rendered => JSON.parse(line))

const nothing = { truths: null }
const text = 'First 2 + 2.\n\nIt is 4.'

/** These write a system prompt of free text before a turn that begins with an ordinary word. */
const unmarked = ['deepseek', 'vicuna', 'alpaca']

const parts = (given: ReturnType<typeof separate>) => {
  if ('problem' in given) throw new Error(given.problem)
  return { ...given, asked: lastUserText({ prompt: given.prompt }) }
}

t.test(
  'prompt and response of every family come apart, with look-alike tokens in the response',
  async (t) => {
    t.ok(families.length >= 8)
    for (const { template, user, single, bare, end, pad } of families) {
      const responses = { plain: text, 'with look-alikes': `4${end}\n${single}5${end} or ${bare}6` }
      for (const [what, response] of Object.entries(responses)) {
        for (const [how, prompt] of Object.entries({ single, bare })) {
          const written = `${prompt}${response}${end}${pad}${pad}`
          const name = `${template}, ${how}, ${what}`
          const named = how === 'single' && unmarked.includes(template) ? { template } : {}
          const alone = parts(separate(written, { ...nothing, ...named }))
          t.equal(alone.response, response, name)
          t.ok(alone.asked.endsWith(user), `${name}: ${alone.asked}`)
          const beside = parts(separate(written, { ...nothing, prompt }))
          t.equal(beside.response, response, `${name}, prompt sent`)
          if (!('template' in named)) t.ok(beside.asked.endsWith(user), `${name}, prompt sent`)
        }
      }
    }
  },
)

t.test('an earlier turn of the policy is prompt where the prompt is sent or known', async (t) => {
  for (const { template, several, end, pad } of families) {
    const named = unmarked.includes(template) ? { template } : {}
    const written = `${several}6${end}${pad}`
    const sent = parts(separate(written, { ...nothing, ...named, prompt: several }))
    t.equal(sent.response, '6', template)
    t.equal(sent.asked, 'And <b>3 + 3</b>?', template)
    const known: Truths = {
      file: 'truths.jsonl',
      find: (prompt) =>
        lastUserText({ prompt }).startsWith('And')
          ? { groundTruth: '6', rmPrompts: {}, extraInfo: {} }
          : undefined,
    }
    t.equal(parts(separate(written, { ...named, truths: known })).response, '6', `${template}, known`)
    const alone = parts(separate(written, { ...nothing, ...named }))
    t.ok(alone.response.endsWith('6') && alone.response.startsWith('4'), `${template}: nothing is cut off`)
  }
})

t.test('the default system prompts of Vicuna and Alpaca tell their templates', async (t) => {
  const vicuna =
    'A chat between a curious user and an artificial intelligence assistant. Be kind. USER: 2 + 2? ASSISTANT: 4</s>'
  t.match(separate(vicuna, nothing), { prompt: [{ role: 'system' }, { content: '2 + 2?' }], response: '4' })
  const alpaca =
    '<s>Below is an instruction that describes a task. Do it.\n\n### Instruction:\n2 + 2?\n\n### Response:\n4</s>'
  t.match(separate(alpaca, nothing), { prompt: [{ role: 'system' }, { content: '2 + 2?' }], response: '4' })
})

t.test('a text without a known template is told, never guessed', async (t) => {
  t.match(separate('Question: 2 + 2? Answer: 4', nothing), { problem: /no known chat template/ })
  t.match(separate('Question: 2?', { ...nothing, prompt: 'Other' }), {
    problem: /does not begin with its prompt/,
  })
  t.match(separate('<|im_start|>user\n2 + 2?', nothing), { problem: /no assistant turn/ })
  t.strictSame(separate('It is 4.</s>', { ...nothing, template: 'none' }), {
    prompt: '',
    response: 'It is 4.',
  })
  t.strictSame(separate('2 + 2? 4</s>', { ...nothing, prompt: '2 + 2?' }), {
    prompt: '2 + 2?',
    response: ' 4',
  })
})

t.test('tokens before the prompt differ without harm', async (t) => {
  const prompt = '<|im_start|>user\n2?<|im_end|>\n<|im_start|>assistant\n'
  t.match(separate(`<s>${prompt}4<|im_end|>`, { ...nothing, prompt }), { response: '4' })
  t.match(separate(`${prompt}4<|im_end|>`, { ...nothing, prompt: '' }), { response: '4' })
  t.match(separate(`${prompt}4<|im_end|>`, { ...nothing, prompt: `<s>${prompt}` }), { response: '4' })
})

t.test('a hostile megabyte costs little', async (t) => {
  const mega = 1 << 20
  const texts = [
    '<|im_start|>assistant\n'.repeat(mega / 22),
    `<|im_start|>user\n${'</s> '.repeat(mega / 5)}`,
    `[INST] [/INST]${'<s>'.repeat(mega / 3)}x${' '.repeat(1000)}`,
    `<|user|>${' \n'.repeat(mega / 2)}<|assistant|>`,
  ]
  for (const hostile of texts) {
    const start = cpuMs()
    separate(hostile, nothing)
    separate(hostile, { ...nothing, prompt: hostile.slice(0, mega / 2) })
    t.ok(cpuMs() - start < 1500, hostile.slice(0, 20))
  }
})
