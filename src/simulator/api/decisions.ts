import { type Call, createdNow, type Endpoint, madeId, requireModel } from '../call.ts'
import { lostScore } from '../completion.ts'
import { namesFault } from '../judge.ts'
import { JudgePrompt } from '../judge-prompt.ts'
import { badRequest } from '../refusal.ts'
import { criterionIn } from '../rubric-prompt.ts'
import { promptUsage } from './completions.ts'
import { pass } from './pooling.ts'

type Fields = Readonly<Record<string, unknown>>

/** A question in any of the shapes. `names`: of its answers, in order. */
interface Asked {
  readonly id: string
  readonly type: string
  readonly text: string
  readonly names: readonly unknown[]
}

/** The probability of all answers together. */
const labelMass = 0.97

/** What vLLM 0.33 serves, whatever its schema allows. */
const limits = { questions: 64, options: 26 } as const

/**
 * POST /v1/decisions: SGLang's shape where questions have an `id`, else that of OpenAI and vLLM, which never refuses here.
 * The likeliest answer is what the judge thinks of the answer in the input: yes, the best level, or the option whose name sounds right.
 */
export const decisions: Endpoint = async (call) => {
  requireModel(call)
  const { body, model } = call
  const questions = listOf(body.questions, 'questions')
  const isSglang = questions.every(({ id }) => id !== undefined)
  const asked = questions.map(isSglang ? sglangQuestion : openaiQuestion)
  const { drawn, usage } = await draws(call, inputOf(body.input), asked)
  if (!isSglang) {
    const answers = asked.map((one, at) => openaiAnswer(one, drawn[at] ?? [], questions[at] as Fields))
    return { json: { model: model.name, answers, usage: openaiUsage(usage.prompt_tokens, asked.length) } }
  }
  const answers = asked.map((one, at): readonly [string, object] => {
    const found = drawn[at] ?? []
    return [
      one.id,
      {
        type: one.type,
        probabilities: Object.fromEntries(one.names.map((name, index) => [String(name), found[index]])),
        label_mass: labelMass,
        ...(one.type === 'choice' && { choice: one.names[top(found)] }),
        ...(one.type === 'score' && { score: meanOf(found) }),
      },
    ]
  })
  return {
    json: {
      object: 'decisions',
      model: model.name,
      prompt_format_version: 1,
      answers: Object.fromEntries(answers),
      usage,
    },
  }
}

/** POST /v1/systemone: vLLM's reply, with the mass also where SGLang has it. */
export const systemOne: Endpoint = async (call) => {
  requireModel(call)
  const { body, model } = call
  const { questions, state } = body
  if (typeof questions !== 'object' || questions === null || Array.isArray(questions))
    throw badRequest('questions must be an object', 'questions')
  if (state === undefined) throw badRequest('state is missing', 'state')
  const asked = Object.entries(questions as Readonly<Record<string, Fields>>).map(([id, one]) =>
    systemOneQuestion(id, one),
  )
  const { drawn, usage } = await draws(call, inputOf(state), asked)
  const answers = asked.map(({ id, type, names }, at): readonly [string, object] => {
    const found = drawn[at] ?? []
    const keys = type === 'score' ? names.map((_, index) => String(index)) : names.map(String)
    const shared = {
      type,
      probabilities: Object.fromEntries(keys.map((key, index) => [key, found[index]])),
      confidence: Math.max(...found) * labelMass,
      x_label_mass: labelMass,
    }
    if (type === 'noul') return [id, { ...shared, noul: found[0] }]
    if (type === 'choice') return [id, { ...shared, choice: names[top(found)] }]
    return [
      id,
      { ...shared, score: meanOf(found), legend: Object.fromEntries(keys.map((key, i) => [key, names[i]])) },
    ]
  })
  return {
    json: {
      id: madeId('decision'),
      object: 'structured_decision',
      created: createdNow(),
      model: model.name,
      answers: Object.fromEntries(answers),
      usage: { input_tokens: usage.prompt_tokens, output_tokens: asked.length },
      diagnostics: Object.fromEntries(
        asked.map(({ id }) => [id, { label_mass: labelMass, argmax_is_label: true }]),
      ),
      joint: null,
    },
  }
}

function listOf(value: unknown, param: string): readonly Fields[] {
  if (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((one) => typeof one === 'object' && one !== null)
  )
    return value as Fields[]
  throw badRequest(`${param} must be a list of objects`, param)
}

/** A text, or the texts of messages; anything else as JSON. */
function inputOf(input: unknown): string {
  if (typeof input === 'string') return input
  if (!Array.isArray(input)) return JSON.stringify(input)
  return (input as readonly Fields[])
    .flatMap(({ content }) =>
      Array.isArray(content) ? (content as readonly Fields[]).map(({ text = '' }) => text) : [content ?? ''],
    )
    .join('\n')
}

function openaiQuestion(question: Fields, at: number): Asked {
  const { type, instructions } = question
  const id = String(at)
  const text = textOf(instructions, 'instructions')
  if (type === 'predicate') return { id, type, text, names: [true, false] }
  if (type === 'choice')
    return { id, type, text, names: listOf(question.choices, 'choices').map(({ value }) => value) }
  if (type === 'score')
    return { id, type, text, names: listOf(question.levels, 'levels').map(({ label }) => label) }
  throw badRequest('type must be predicate, choice or score', 'type')
}

function sglangQuestion(question: Fields): Asked {
  const { id, type } = question
  const shared = { id: textOf(id, 'id'), text: textOf(question.question, 'question') }
  if (type === 'yes_no') return { ...shared, type, names: ['yes', 'no'] }
  if (type === 'choice')
    return { ...shared, type, names: listOf(question.options, 'options').map(({ name }) => name) }
  if (type === 'score' && Array.isArray(question.levels))
    return { ...shared, type, names: question.levels.map((_, at) => String(at)) }
  throw badRequest('type must be yes_no, choice or score', 'type')
}

function systemOneQuestion(id: string, { type, instructions = '', criteria }: Fields): Asked {
  const text = String(instructions)
  if (type === 'noul') return { id, type, text, names: ['yes', 'no'] }
  if (type === 'choice' && typeof criteria === 'object' && criteria !== null)
    return { id, type, text, names: Object.keys(criteria) }
  if (type === 'score' && Array.isArray(criteria)) return { id, type, text, names: criteria }
  throw badRequest(`question '${id}': its type and criteria do not fit`, 'questions')
}

function textOf(value: unknown, param: string): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw badRequest(`${param} must be a text`, param)
}

/** The probabilities of each question's answers. One pass for each question. */
async function draws(call: Call, input: string, asked: readonly Asked[]) {
  const { model } = call
  if (asked.length > limits.questions)
    throw badRequest(`questions: at most ${limits.questions} for this model`, 'questions')
  for (const { names } of asked)
    if (names.length < 2 || names.length > limits.options)
      throw badRequest(`This model supports at most ${limits.options} choices per question`, 'questions')
  const prompts = asked.map(({ text }) => ({ text: `${input}\n\n${text}` }))
  const admitted = await pass(call, prompts)
  const drawn = asked.map(({ type, names, text: question }, at) => {
    const { text = '' } = prompts[at] ?? {}
    const said =
      model.weights === 'sound'
        ? model.judge.score(new JudgePrompt(text), { seed: model.seed, index: 0 })
        : lostScore(model, text)
    const right = said === null || !namesFault(criterionIn(question)) ? (said ?? 0.5) : 1 - said
    return type === 'score' ? levelsAt(names.length, right) : optionsBy(names, right)
  })
  return { drawn, usage: promptUsage(admitted) }
}

const good = /^(?:true|yes|right|correct|good|pass(?:ed|es)?|safe|a)\b/iu
const bad = /^(?:false|no|not|wrong|incorrect|bad|fail(?:ed|s)?|unsafe|b)\b/iu

const certainty = (right: number): number => 0.02 + 0.96 * right

/** How likely each of some levels is where the judge finds the answer right with this probability. */
function levelsAt(count: number, right: number): readonly number[] {
  const place = certainty(right) * (count - 1)
  return shares(Array.from({ length: count }, (_, at) => Math.exp(-4 * Math.abs(at - place))))
}

/** The same for options: those whose names sound right and wrong, or else the first and the last. */
function optionsBy(names: readonly unknown[], right: number): readonly number[] {
  const sure = certainty(right)
  const texts = names.map(String)
  const best = texts.findIndex((name) => good.test(name))
  const worst = texts.findIndex((name) => bad.test(name))
  const [first, last] = best >= 0 || worst >= 0 ? [best, worst] : [0, texts.length - 1]
  return shares(texts.map((_, at) => (at === first ? sure : at === last ? 1 - sure : 0.01)))
}

function shares(weights: readonly number[]): readonly number[] {
  const total = weights.reduce((sum, one) => sum + one, 0)
  return weights.map((one) => one / total)
}

const top = (probabilities: readonly number[]): number => probabilities.indexOf(Math.max(...probabilities))

const meanOf = (probabilities: readonly number[]): number =>
  probabilities.reduce((sum, one, at) => sum + at * one, 0)

function openaiAnswer({ type, names }: Asked, found: readonly number[], { name = null }: Fields): object {
  if (type === 'predicate') return { type, name, probability: found[0] }
  const confidence = Math.max(...found) * labelMass
  if (type === 'choice') {
    const probabilities = names.map((value, at) => ({ value, probability: found[at] }))
    return { type, name, choice: names[top(found)], probabilities, confidence }
  }
  const probabilities = names.map((label, value) => ({ value, label, probability: found[value] }))
  return { type, name, score: meanOf(found), probabilities, confidence }
}

const openaiUsage = (input: number, output: number): object => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: input + output,
})
