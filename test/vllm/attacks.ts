import type { Test } from 'tap'
import { prompt } from '../../src/contract/index.ts'
import type { Message } from '../../src/core/sample/sample.ts'
import type { VoteEvent } from '../../src/scoring/engine/events.ts'
import { guardQuestion } from '../../src/scoring/engine/guard/guarded-question.ts'
import { fullGuard, type GuardConfig, noGuard } from '../../src/scoring/models/interface/model-config.ts'
import { subjectOf } from '../../src/workbench/audit/attack.ts'
import { textAttacks } from '../../src/workbench/audit/catalogue/attacks.ts'
import { auditRows } from '../support/audit-rows.ts'
import { outcomesOf, sampleOf, testGateway } from '../support/gateway.ts'

const families = ['forged verdict', 'role and fence break', 'template leakage', 'hidden text']

/** Every structural attack of the catalogue on the audit's rows. */
const texts = auditRows('numbers')
  .map(subjectOf)
  .flatMap((subject) =>
    textAttacks
      .filter(({ family }) => families.includes(family))
      .flatMap(({ id, make }) => {
        const text = make(subject)
        return text === null ? [] : [{ id, text }]
      }),
  )

/** What the server's own tokenizer makes of attacks, and which verdicts come back. */
export async function attackVllm(t: Test, url: string, model: string): Promise<void> {
  const tokenize = async (body: object): Promise<readonly number[]> => {
    const response = await fetch(`${url}/tokenize`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...body }),
    })
    // A lone surrogate is refused: an answer that no server reads.
    const { tokens = [] } = (await response.json()) as { tokens?: readonly number[] }
    return tokens
  }
  const control = new Set(
    await tokenize({ prompt: '<|im_start|><|im_end|><|endoftext|>', add_special_tokens: false }),
  )
  t.equal(control.size, 3)
  const controls = async (answer: string, guard: GuardConfig) => {
    const asked = prompt`Is the answer right? Reply 1 or 0.\nAnswer: ${answer}`
    const { input } = guardQuestion('generate', asked, 'secret', 'identity', guard)
    // The tiny model's own chat template (make_tiny_model.py).
    const [turn] = input as readonly Message[]
    const turns = `<|im_start|>user\n${turn?.content}<|im_end|>\n<|im_start|>assistant\n`
    const tokens = await tokenize({ prompt: turns, add_special_tokens: false })
    return tokens.filter((token) => control.has(token)).length
  }
  const usual = await controls('It is 4.', fullGuard)
  t.equal(usual, 3)
  const broken = { naive: new Set<string>(), guarded: new Set<string>() }
  for (const { id, text } of texts) {
    if ((await controls(text, noGuard)) !== usual) broken.naive.add(id)
    if ((await controls(text, fullGuard)) !== usual) broken.guarded.add(id)
  }
  t.comment(
    `control tokens in the judge's prompt: ${broken.naive.size} attacks naively, ${broken.guarded.size} guarded`,
  )
  t.ok(broken.naive.size > 0, 'without the guard an answer writes turns of the conversation')
  t.strictSame([...broken.guarded], [], 'with it none does')
  await verdictsAreReplies(t, url, model)
}

async function verdictsAreReplies(t: Test, url: string, model: string): Promise<void> {
  const replies = new Map<string, string>()
  const voted = ({ samples: [sample], answered }: VoteEvent) => {
    if (sample && answered) replies.set(sample.id, (answered.answer as { text: string }).text)
  }
  const models = {
    judge: { model, instances: [url], max_in_flight: 16, sampling: { temperature: 0, max_tokens: 8 } },
  }
  const gateway = await testGateway(
    t,
    { judged: { models, steps: [{ name: 'term', function: 'digit-judge', model: 'judge' }] } },
    { events: { engine: { voted } } },
  )
  const rows = texts.map(({ text }, at) => sampleOf(text, { id: String(at) }))
  const outcomes = await outcomesOf(gateway, 'judged', rows)
  const asked = outcomes.filter(({ id }) => replies.has(id))
  t.ok(asked.length > 0)
  for (const outcome of asked) t.equal(outcome.valid && String(outcome.reward), replies.get(outcome.id))
  const refused = outcomes.filter(({ id }) => !replies.has(id))
  for (const outcome of refused)
    t.equal(outcome.valid && outcome.reward, 0, 'what is not asked earns the low end')
  t.comment(`${asked.length} attacks were judged, ${refused.length} refused`)
}
