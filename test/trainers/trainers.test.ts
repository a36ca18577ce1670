import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lastUserText } from '../../src/contract/question.ts'
import { failureKinds, type Outcome, type Term } from '../../src/core/sample/sample.ts'
import { combine } from '../../src/scoring/engine/outcome.ts'
import type { Plan } from '../../src/scoring/plan/plan.ts'
import { shapeOf } from '../../src/serving/http/routes/trainers.ts'
import { separate } from '../../src/trainers/chat/separate.ts'
import type { GroundTruthIndex } from '../../src/trainers/ground-truth-index.ts'
import { nemoGym } from '../../src/trainers/nemo-gym.ts'
import { cpuMs } from '../support/cpu.ts'
import { seeded } from '../support/seeded.ts'

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
const families = readFileSync(join('test/fixtures/trainers/chat-templates.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line): Rendered => JSON.parse(line))

const nothing = { groundTruths: null }
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

t.test('an earlier turn of the policy belongs to the prompt if the prompt is sent or known', async (t) => {
  for (const { template, several, end, pad } of families) {
    const named = unmarked.includes(template) ? { template } : {}
    const written = `${several}6${end}${pad}`
    const sent = parts(separate(written, { ...nothing, ...named, prompt: several }))
    t.equal(sent.response, '6', template)
    t.equal(sent.asked, 'And <b>3 + 3</b>?', template)
    const known: GroundTruthIndex = {
      file: 'truths.jsonl',
      find: (prompt) =>
        lastUserText({ prompt }).startsWith('And')
          ? { groundTruth: '6', rmPrompts: {}, extraInfo: {} }
          : undefined,
    }
    t.equal(parts(separate(written, { ...named, groundTruths: known })).response, '6', `${template}, known`)
    const alone = parts(separate(written, { ...nothing, ...named }))
    t.ok(alone.response.endsWith('6') && alone.response.startsWith('4'), `${template}: nothing is cut off`)
  }
})

t.test('the default system prompts of Vicuna and Alpaca identify their templates', async (t) => {
  const vicuna =
    'A chat between a curious user and an artificial intelligence assistant. Be kind. USER: 2 + 2? ASSISTANT: 4</s>'
  t.match(separate(vicuna, nothing), { prompt: [{ role: 'system' }, { content: '2 + 2?' }], response: '4' })
  const alpaca =
    '<s>Below is an instruction that describes a task. Do it.\n\n### Instruction:\n2 + 2?\n\n### Response:\n4</s>'
  t.match(separate(alpaca, nothing), { prompt: [{ role: 'system' }, { content: '2 + 2?' }], response: '4' })
})

t.test('a text without a known template is a problem, never a guess', async (t) => {
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

t.test('different tokens before the prompt do no harm', async (t) => {
  const prompt = '<|im_start|>user\n2?<|im_end|>\n<|im_start|>assistant\n'
  t.match(separate(`<s>${prompt}4<|im_end|>`, { ...nothing, prompt }), { response: '4' })
  t.match(separate(`${prompt}4<|im_end|>`, { ...nothing, prompt: '' }), { response: '4' })
  t.match(separate(`${prompt}4<|im_end|>`, { ...nothing, prompt: `<s>${prompt}` }), { response: '4' })
})

t.test('a hostile megabyte is read in linear time', async (t) => {
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

const body = { responses_create_params: { input: 'q' }, response: { output: [] }, kept: { a: 1 } }
const asked = { body, query: {}, literals: [], groundTruths: null, maxRowValues: 1000 }
const { write } = (await nemoGym.routes['/verify']?.read(asked)) ?? {}

interface Verified {
  readonly reward: number
  readonly reward_components: Record<string, number>
  readonly mask_sample: boolean
  readonly failure_kind: string | null
}

const verified = (plan: Pick<Plan, 'steps' | 'formula'>, outcome: Outcome): Verified =>
  write?.([{ outcome, reward: outcome.valid ? outcome.reward : 0 }], shapeOf(plan)) as Verified

t.test('components add up to the reward, with the same names in every sample of a reward', async (t) => {
  const seed = Date.now() % 2 ** 31
  const random = seeded(seed)
  for (let round = 0; round < 500; round++) {
    const arithmetic = random() < 0.3 ? ('published' as const) : ('strict' as const)
    const steps = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) => ({
      name: `s${index}`,
      op: random() < 0.75 ? 'add' : 'mul',
    })) as unknown as Plan['steps']
    const plan = { steps, gate: null, formula: null, arithmetic }
    const names = new Set<string>()
    for (let sample = 0; sample < 4; sample++) {
      const terms = steps.map(({ name }, index): Term => {
        const weight = Math.round(random() * 40) / 10 - 1
        if (index > 0 && random() < 0.3) return { name, weight, status: 'off', why: 'gate' }
        const score = { value: random() * 3 - 1 }
        return { name, weight, status: 'scored', score, draws: 1, spread: 0, contribution: null }
      })
      const result = combine(plan, terms)
      const outcome: Outcome = result.valid
        ? { id: '0', terms: result.terms, flags: [], valid: true, reward: result.reward }
        : { id: '0', terms, flags: [], valid: false, failure: result.failure, substitute: null }
      const { reward, reward_components: components } = verified(plan, outcome)
      names.add(Object.keys(components).join())
      const sum = Object.values(components).reduce((total, one) => total + one, 0)
      if (Math.abs(sum - reward) > 1e-9) t.fail(`seed ${seed}, round ${round}: ${sum} is not ${reward}`)
    }
    if (names.size > 1) t.fail(`seed ${seed}, round ${round}: components ${[...names].join(' and ')}`)
  }
  t.pass(`500 rewards, seed ${seed}`)
})

t.test("every kind of failure masks the sample, with Gym's kind or the gateway's own", async (t) => {
  const plan = { steps: [{ name: 's', op: 'add' }] as unknown as Plan['steps'], formula: null }
  for (const kind of failureKinds) {
    const failure = { kind, retryable: false, detail: 'why' }
    const terms: Term[] = [{ name: 's', weight: 1, status: 'failed', failure }]
    const reply = verified(plan, { id: '0', terms, flags: [], valid: false, failure, substitute: 7 })
    t.match(
      reply,
      { reward: 0, mask_sample: true, kept: { a: 1 }, instance_config: { mask_sample: true } },
      kind,
    )
    t.match(reply.failure_kind, /^(?:reward_gateway:)?[a-z_]+$/)
  }
})

t.test(
  'NeMo Gym: the instructions of a request are its system message, whatever form the input has',
  async (t) => {
    const instructions = 'Be strict.'
    const [system, user] = [
      { role: 'system', content: instructions },
      { role: 'user', content: 'q' },
    ]
    for (const [responses_create_params, prompt] of [
      [{ input: 'q' }, 'q'],
      [{ input: [user] }, [user]],
      [{ input: 'q', instructions }, [system, user]],
      [{ input: [user], instructions }, [system, user]],
    ] as const) {
      const reading = await nemoGym.routes['/verify']?.read({
        ...asked,
        body: { ...body, responses_create_params },
      })
      t.match(reading?.rows, [{ prompt }])
    }
  },
)

t.test('NeMo Gym: a failure has a class, and is final if no other answer would help (M49)', async (t) => {
  const stale = { _ng_failure_class: 'judge_failed', _ng_failure_terminal: true }
  const again = await nemoGym.routes['/verify']?.read({ ...asked, body: { ...body, ...stale } })
  const plan = { steps: [{ name: 's', op: 'add' }] as unknown as Plan['steps'], formula: null }
  /** The reply as it is sent. */
  const sent = (outcome: Outcome): Record<string, unknown> => {
    const reward = outcome.valid ? outcome.reward : 0
    return JSON.parse(JSON.stringify(again?.write([{ outcome, reward }], shapeOf(plan))))
  }
  const scored: Term[] = [
    { name: 's', weight: 1, status: 'scored', score: { value: 1 }, draws: 1, spread: 0, contribution: 1 },
  ]
  const valid = sent({ id: '0', terms: scored, flags: [], valid: true, reward: 1 })
  t.match(valid, { reward: 1, mask_sample: false, kept: { a: 1 } })
  t.notOk('_ng_failure_class' in valid || '_ng_failure_terminal' in valid, 'an earlier failure is forgotten')
  for (const kind of failureKinds) {
    const failure = { kind, retryable: false, detail: 'why' }
    const terms: Term[] = [{ name: 's', weight: 1, status: 'failed', failure }]
    const reply = sent({ id: '0', terms, flags: [], valid: false, failure, substitute: null })
    t.equal(reply._ng_failure_class, reply.failure_kind, kind)
    t.equal(reply._ng_failure_terminal, kind === 'bad_sample' ? true : undefined, kind)
  }
})
