import type { AskName, Asks, ChatPrompt, Prompt } from '../../../contract/index.ts'
import { isDecision, isService } from '../../../contract/question.ts'
import type { Failure } from '../../../core/sample/sample.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { AskError, type Rendered } from '../../models/interface/ask.ts'
import { allOrNone, type CancelToken } from '../../models/interface/cancel-token.ts'
import { asChat } from '../../models/interface/decide-wires.ts'
import { imagesOfInput } from '../../models/interface/question-json.ts'
import type { PlanStep, PromptBudget } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import type { GuardedQuestion } from '../guard/guarded-question.ts'
import { shownAnswer } from '../guard/row-texts.ts'
import { type Cuttable, cuttableIn } from './response-text.ts'

type Question = Asks[AskName]['input']

/** Renders a question for a model: the step's own, or one that was cut. */
interface Rendering {
  of(model: string, asked?: Question): GuardedQuestion
}

/** `fits`: the model's window holds the question. `refused`: the policy's answer alone is too long. */
export type Fitted =
  | { readonly status: 'fits'; readonly question: GuardedQuestion; readonly isCut: boolean }
  | { readonly status: 'refused' }
  | { readonly status: 'failed'; readonly failure: Failure }

/** Lower bound: at least one token per 16 bytes. */
const leastShare = 1 / 16

const cuts = 4

/** Fits a question to a model's token budget. `shared`: how many of its values may be the response, the first ones. Never rejects. */
export async function withinBudget(
  context: StepContext,
  step: PlanStep,
  model: string,
  given: PromptBudget,
  rows: readonly CallRow[],
  question: Question,
  questions: Rendering,
  shared = Number.POSITIVE_INFINITY,
): Promise<Fitted> {
  const guarded = questions.of(model)
  const images = imagesOfInput(guarded.input).reduce((sum, { tokens }) => sum + tokens, 0)
  // Texts are cut to what the images leave; images never are.
  const budget = images === 0 ? given : { ...given, maxTokens: given.maxTokens - images }
  if (budget.maxTokens <= 0) return tooLong
  try {
    const tokens = await longest(context, model, budget, textsOf(guarded))
    if (tokens <= budget.maxTokens) return { status: 'fits', question: guarded, isCut: false }
    // Steps are scored whole or not at all. There may be thousands, so none is looked for in the response.
    const hasSteps = guarded.steps !== null
    if (budget.onLong === 'truncate_middle' && !hasSteps) {
      const cuttable = cuttableIn(rows, valuesOf(question), shared)
      const length = partsOf(question, cuttable).reduce((sum, part) => sum + Buffer.byteLength(part), 0)
      const cutBy = (bytes: number): GuardedQuestion | null =>
        bytes >= length ? null : questions.of(model, cutTo(question, cuttable, length - bytes))
      const cut = await shortened(context, model, budget, guarded, tokens, cutBy)
      return cut ? { status: 'fits', question: cut, isCut: true } : tooLong
    }
    const isSingle = step.kind === 'model' && !step.critique && Number.isFinite(step.function.range[0])
    const own = hasSteps ? [] : partsOf(question, cuttableIn(rows, valuesOf(question), shared))
    const answers = own.length > 0 ? own : rows.map(({ sample }) => sample.response)
    const alone = isSingle ? await tokensOf(context, model, budget, answers.join('')) : 0
    return alone > budget.maxTokens ? { status: 'refused' } : tooLong
  } catch (error) {
    if (error instanceof AskError) return { status: 'failed', failure: error.failure }
    throw error
  }
}

/** Whether an answer alone exceeds the budget of a model that does not truncate. */
export async function overflows(context: StepContext, step: PlanStep, { sample }: CallRow): Promise<boolean> {
  for (const [model, budget] of step.budgets) {
    if (budget.onLong === 'truncate_middle') continue
    const answer = shownAnswer(sample, step.function.thinking)
    const tokens = await tokensOf(context, model, budget, answer)
    if (tokens > budget.maxTokens) return true
  }
  return false
}

/** Cuts the question until it fits, a little more in each round; null if nothing would be left. */
async function shortened(
  context: StepContext,
  model: string,
  budget: PromptBudget,
  question: GuardedQuestion,
  tokens: number,
  cutBy: (bytes: number) => GuardedQuestion | null,
): Promise<GuardedQuestion | null> {
  const bytesOfToken = Math.max(1, largest(textsOf(question).map(bytesOf)) / tokens)
  let excess = tokens - budget.maxTokens
  let bytes = 0
  for (let round = 0; round < cuts; round++) {
    bytes += Math.ceil(excess * bytesOfToken * (1 + round / 4)) + 8
    const cut = cutBy(bytes)
    if (!cut) return null
    const found = await longest(context, model, budget, textsOf(cut))
    if (found <= budget.maxTokens) return cut
    excess = found - budget.maxTokens
  }
  return null
}

/** The largest token count of the texts: texts to embed are counted one by one. */
async function longest(
  context: StepContext,
  model: string,
  budget: PromptBudget,
  texts: readonly Rendered[],
): Promise<number> {
  const counts = await allOrNone(
    context.end.signal,
    texts.map((text) => (stop) => tokensOf(context, model, budget, text, stop)),
  )
  return largest(counts)
}

/** The maximum of non-negative numbers, for more of them than a call takes arguments. */
const largest = (values: readonly number[]): number =>
  values.reduce((most, value) => Math.max(most, value), 0)

/** Counts the tokens of a text. Returns its bytes if even those fit, and a low estimate if it is far too long. */
async function tokensOf(
  context: StepContext,
  model: string,
  { maxTokens }: PromptBudget,
  text: Rendered,
  signal: CancelToken | AbortSignal = context.end.signal,
): Promise<number> {
  const bytes = bytesOf(text)
  if (bytes <= maxTokens) return bytes
  const least = Math.floor(bytes * leastShare)
  if (least > maxTokens) return Math.ceil(bytes / 4)
  return context.models.countTokens(model, text, {
    deadline: context.job.deadline,
    signal,
  })
}

/** The bytes of a text, with an allowance for what a chat template adds to each message. */
const bytesOf = (text: Rendered): number =>
  typeof text === 'string'
    ? Buffer.byteLength(text)
    : text.reduce((sum, { content }) => sum + Buffer.byteLength(content) + 16, 0)

function textsOf({ input }: GuardedQuestion): readonly Rendered[] {
  if (typeof input === 'string') return [input]
  if ('labels' in input) return [input.question]
  if ('json' in input) return [input.json]
  if ('about' in input) return [asChat(input)]
  return input.every((item) => typeof item === 'string') ? input : [input as Rendered]
}

const tooLong: Fitted = {
  status: 'failed',
  failure: {
    kind: 'prompt_too_long',
    retryable: false,
    detail: "the prompt is longer than the model's max_prompt_tokens",
  },
}

/** Every untrusted value of a question. */
export function valuesOf(question: Question): readonly string[] {
  const values: string[] = []
  mapped(question, (value) => {
    values.push(value)
    return value
  })
  return values
}

/**
 * The question with the middles of the parts that `cuttable` names left out, so that these have at most `bytes` together,
 * roughly: the longest lose the most.
 */
export function cutTo(question: Question, cuttable: Cuttable, bytes: number): Question {
  const lengths = partsOf(question, cuttable).map((part) => Buffer.byteLength(part))
  const cap = capOf(lengths, bytes)
  return mapped(question, (value, at) => {
    const part = cuttable(value, at)
    if (part === null) return value
    const from = value.indexOf(part)
    return value.slice(0, from) + withoutMiddle(part, cap) + value.slice(from + part.length)
  })
}

/** What may be cut of a question's values. */
const partsOf = (question: Question, cuttable: Cuttable): readonly string[] =>
  valuesOf(question).flatMap((value, at) => cuttable(value, at) ?? [])

/** The most that each may have so that all together have at most `total`. */
function capOf(lengths: readonly number[], total: number): number {
  let left = total
  const sorted = [...lengths].sort((a, b) => a - b)
  for (const [index, length] of sorted.entries()) {
    const share = left / (sorted.length - index)
    if (length > share) return Math.floor(share)
    left -= length
  }
  return Number.POSITIVE_INFINITY
}

/** Beginning and end of a text, with a note between them of how much is missing; about `bytes` long. */
export function withoutMiddle(text: string, bytes: number): string {
  const length = Buffer.byteLength(text)
  if (length <= bytes) return text
  const note = `\n[... ${text.length} characters, the middle left out ...]\n`
  const kept = Math.max(0, Math.floor(((bytes - note.length) * text.length) / length))
  const head = whole(text.slice(0, Math.ceil(kept / 2)), 'end')
  const tail = whole(kept < 2 ? '' : text.slice(-Math.floor(kept / 2)), 'start')
  return `${head}${note}${tail}`
}

/** Without the half of a surrogate pair at one end. */
const whole = (text: string, end: 'start' | 'end'): string =>
  end === 'end' ? text.replace(/[\ud800-\udbff]$/, '') : text.replace(/^[\udc00-\udfff]/, '')

/** The question with each of its values changed. `at`: the value's place among all of them. */
function mapped(question: Question, change: (value: string, at: number) => string): Question {
  if (typeof question === 'string' || isService(question)) return question
  let at = 0
  const next = (value: string): string => change(value, at++)
  if (isDecision(question)) return { ...question, about: mappedPrompt(question.about, next) }
  if (!('kind' in question)) {
    if ('labels' in question) return { ...question, question: mappedText(question.question, next) }
    return question.map(next)
  }
  return mappedText(question, next)
}

type Text = Prompt | ChatPrompt | string

function mappedText(text: Text, change: (value: string) => string): Text {
  if (typeof text === 'string') return text
  if (text.kind === 'prompt') return mappedPrompt(text, change)
  const messages = text.messages.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? content : mappedPrompt(content, change),
  }))
  return { ...text, messages }
}

const mappedPrompt = (prompt: Prompt, change: (value: string) => string): Prompt => ({
  ...prompt,
  values: prompt.values.map((value) => change(value)),
})
