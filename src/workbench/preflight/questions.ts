import { lastUserText, type PartQuestions, type Prompt } from '../../contract/index.ts'
import { emptyPlaces } from '../../contract/prompt.ts'
import {
  holdsNothing,
  isDecision,
  isService,
  marker,
  questionImages,
  questionTexts,
  withMarker,
} from '../../contract/question.ts'
import { askedPart, partLength } from '../../contract/questions.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { Json, Sample } from '../../core/sample/sample.ts'
import { withOwnTexts } from '../../scoring/engine/guard/row-texts.ts'
import { drawsOf } from '../../scoring/engine/judge/votes.ts'
import { isOverGroup, rowOf } from '../../scoring/engine/step.ts'
import {
  imageFailure,
  leavesOutTurns,
  shownQuestion,
  unseenContent,
} from '../../scoring/engine/unseen-content.ts'
import type { CallResult, CallRow, FunctionHost } from '../../scoring/functions/function-host.ts'
import { type DecideWire, wireFault } from '../../scoring/models/interface/decide-wires.ts'
import type { ModelConfig } from '../../scoring/models/interface/model-config.ts'
import { askedModels, type PlanStep } from '../../scoring/plan/plan.ts'
import { ignorance } from '../dataset/samples.ts'
import { type FindingName, type Findings, withoutPlace } from './finding.ts'
import type { OpenedReward } from './opened-reward.ts'
import type { Item } from './row-checks.ts'
import { askedInput, countMessage, type Question, shownText, textsOf } from './shown-questions.ts'
import { Windows } from './windows.ts'

/** A judge's question about a right answer, as it would be sent. */
export interface ShownQuestion {
  readonly row: string
  readonly step: string
  readonly model: string
  readonly text: string
}

/** The findings about one row. Rows are checked in parallel and reported in order. */
interface Seen {
  readonly found: (readonly [FindingName, string])[]
  readonly shown: ShownQuestion[]
}

const shownRows = 3

/**
 * Checks the judges' questions about right answers: do they contain the answer, and do they fit into the
 * model's window?
 */
export class QuestionCheck {
  readonly shown: ShownQuestion[] = []
  readonly #reward: OpenedReward
  readonly #findings: Findings
  readonly #windows: Windows
  readonly #answerTokens: number | null
  #rows = 0

  /** Of steps that ask several questions about a row: the rows, and the questions about them with all votes. */
  readonly #counts = new Map<PlanStep, { readonly rows: number; readonly questions: number }>()

  /** `answerTokens` is the length of answers in training. null: the length of the right answers. */
  constructor(opened: OpenedReward, findings: Findings, answerTokens: number | null, signal: AbortSignal) {
    this.#reward = opened
    this.#findings = findings
    this.#answerTokens = answerTokens
    this.#windows = new Windows(opened, findings, signal)
  }

  async look(items: readonly Item[]): Promise<void> {
    const seen = await Promise.all(items.map((item) => this.#lookAtRow(item)))
    for (const [at, { found, shown }] of seen.entries()) {
      for (const [name, message] of found) this.#findings.add(name, message, items[at]?.place ?? '')
      if (this.#rows + at < shownRows) this.shown.push(...shown)
    }
    this.#rows += items.length
  }

  /** Adds up what was asked. Call it once, after the last row. */
  end(): void {
    for (const [step, { rows, questions }] of this.#counts)
      this.#findings.addMany('question-count', countMessage(step, questions), { rows: [], count: rows })
  }

  #count(step: PlanStep, asked: number): void {
    const { rows, questions } = this.#counts.get(step) ?? { rows: 0, questions: 0 }
    this.#counts.set(step, { rows: rows + 1, questions: questions + asked * drawsOf(step).length })
  }

  async #lookAtRow(item: Item): Promise<Seen> {
    const seen: Seen = { found: [], shown: [] }
    for (const step of this.#reward.plan.steps) {
      const isOn = step.dataSource === null || step.dataSource.matches(item.sample.dataSource)
      if (step.ask !== null && isOn) await this.#lookAtStep(step, item, seen)
    }
    return seen
  }

  async #lookAtStep(step: PlanStep, item: Item, { found, shown }: Seen): Promise<void> {
    const { sample } = rowOf(step, item.rollout ?? item.sample, [], 0, 0)
    // The contents of the row are checked apart.
    if (unseenContent(step, sample)) return
    const where = `step ${step.name}`
    const asked = await this.#asked(step, sample)
    if (asked.status === 'failed' && asked.failure.detail === holdsNothing) {
      for (const left of placeholdersIn({ kind: 'prompt', literals: [sample.rmPrompt ?? ''], values: [] }))
        found.push(['template-placeholder', `${where}: ${left} in the question`])
      return void found.push([
        'response-not-in-question',
        `${where}: the question does not contain the answer`,
      ])
    }
    if (asked.status === 'failed')
      return void found.push(['failing-question', `${where}: ${asked.failure.detail}`])
    if (asked.status === 'questions') this.#count(step, asked.questions.questions.length)
    const first = firstQuestion(asked)
    if (first === null)
      return void found.push(['no-question', `${where} makes no question about the right answer`])
    if (typeof sample.groundTruth === 'string' && !(await this.#takesText(step)))
      found.push(['truth-from-text', `${where}: the ground truth is parsed from its JSON text`])
    for (const left of placeholdersIn(first))
      found.push(['template-placeholder', `${where}: ${left} in the question`])
    if (step.ask === 'rewards' && promptsOf(first).every(({ steps }) => steps === undefined))
      found.push(['undeclared-steps', `${where}: the question does not declare its number of steps`])
    if (promptsOf(first).some((one) => emptyPlaces(one).length > 0))
      found.push(['empty-value', `${where}: a value of the question is empty`])
    const question = shownQuestion(step, first)
    const rows = [{ sample, earlier: earlierOf(step) }]
    for (const model of askedModels(step)) {
      const failure = imageFailure(step, model, question, rows)
      if (!failure) continue
      const name = failure.kind === 'unseen_content' ? 'unseen-content' : 'failing-question'
      return void found.push([name, `${where}: ${withoutPlace(failure.detail)}`])
    }
    for (const fault of wireFaults(step, question, this.#reward.resolved.models))
      found.push(['failing-question', `${where}: ${fault}`])
    if (leavesOutTurns(question, rows))
      found.push(['turns-unseen', `${where}: the question does not show what came before the last turn`])
    const { status } = await traceMarker(step, sample, this.#reward.functions)
    if (status === 'absent')
      found.push(['response-not-in-question', `${where}: the question does not contain the answer`])
    if (status === 'unguarded')
      found.push(['unguarded-response', `${where}: the answer could give the judge instructions`])
    for (const [at, model] of askedModels(step).entries()) {
      const asked = askedInput(step, model, question, rows)
      const texts = textsOf(asked)
      if (at === 0)
        shown.push({ row: item.place, step: step.name, model, text: shownText(asked, this.#wireOf(model)) })
      if (step.ask === 'service') continue
      const tooLong = await this.#tooLong(step, model, texts, sample)
      if (tooLong !== null) found.push(['prompt-too-long', `${where}: ${tooLong}`])
    }
  }

  #wireOf(model: string): DecideWire {
    return this.#reward.resolved.models.get(model)?.decide.wire ?? 'choose'
  }

  #asked(step: PlanStep, sample: Sample): Promise<CallResult> {
    const row = { sample, earlier: earlierOf(step) }
    const other = { ...row, sample: { ...sample, response: ignorance } }
    const rows = isOverGroup(step) ? [row, other] : [row]
    return this.#reward.functions.call({ op: 'preprocess', function: step.function, rows })
  }

  /** If the schema rejects texts, the question was made from the parsed ground truth. */
  async #takesText({ function: { name } }: PlanStep): Promise<boolean> {
    return takesText((await this.#reward.functions.describe(name)).truthSchema)
  }

  async #tooLong(
    step: PlanStep,
    model: string,
    texts: ReturnType<typeof textsOf>,
    { response }: Sample,
  ): Promise<string | null> {
    const config = this.#reward.resolved.models.get(model)
    const verdictTokens = step.sampling?.max_tokens ?? config?.sampling.max_tokens ?? 0
    const window = await this.#windows.of(model, step.ask === 'generate' ? verdictTokens : 0)
    for (const text of texts)
      if (!(await window.holds(text, response, this.#answerTokens)))
        return `the question is longer than the ${window.limit} tokens that ${model} takes`
    return null
  }
}

/** Limits of the APIs of a step's models that a decision exceeds. */
export function wireFaults(
  step: Pick<PlanStep, 'models' | 'escalate'>,
  question: Question,
  models: ReadonlyMap<string, ModelConfig | null>,
): readonly string[] {
  if (!isDecision(question)) return []
  const images = questionImages(question).length
  return askedModels(step).flatMap((model) => {
    const wire = models.get(model)?.decide.wire
    const fault = wire === undefined ? null : wireFault(wire, question, images)
    return fault === null ? [] : [`${model}: ${fault}`]
  })
}

/** The question that rm_preprocess asks, or the longest of several; null: none. */
function firstQuestion(asked: CallResult): Question | null {
  if (asked.status === 'question') return asked.question
  if (asked.status !== 'questions') return null
  const { about, questions } = asked.questions
  return askedPart(about, longestOf(questions))
}

const longestOf = (questions: PartQuestions['questions']): PartQuestions['questions'][number] =>
  questions.reduce((best, one) => (partLength(one) > partLength(best) ? one : best))

/** Letters or brackets before the brace mark a formula. */
const placeholder = /(?<![\\\w}^_{])\{([A-Za-z_][A-Za-z0-9_]*)\}/g
const usualNames = [
  'response',
  'answer',
  'question',
  'prompt',
  'ground_truth',
  'Response',
  'Thought',
  'ResponseSolution',
]

/** Describes each distinct placeholder that was not filled in. */
function placeholdersIn(question: Question): readonly string[] {
  // A criterion may hold braces of its own.
  const ofAuthor = isDecision(question) && question.rowTexts ? question.about : question
  const { trusted } = questionTexts(ofAuthor)
  const left = trusted.flatMap((text) => [...text.matchAll(placeholder)].map(([, name = '']) => name))
  return [...new Set(left)].map((name) => `{${name}} is not filled in${didYouMean(name, usualNames)}`)
}

/** The prompts in a question. A plain string has none. */
function promptsOf(question: Question): readonly Prompt[] {
  if (typeof question === 'string' || Array.isArray(question) || isService(question)) return []
  if (isDecision(question)) return [question.about]
  if ('question' in question) return promptsOf(question.question)
  if (!('kind' in question)) return []
  if (question.kind === 'prompt') return [question]
  return question.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : [content]))
}

/** False if a JSON Schema accepts no text. True if that is unknown. */
function takesText(schema: Json): boolean {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return true
  const { type, anyOf, oneOf, allOf } = schema as Readonly<Record<string, Json | undefined>>
  const types = Array.isArray(type) ? type : [type]
  if (type !== undefined && !types.includes('string')) return false
  for (const choices of [anyOf, oneOf]) if (Array.isArray(choices) && !choices.some(takesText)) return false
  return !Array.isArray(allOf) || allOf.every(takesText)
}

/** Where a marker in the response appears in the result of rm_preprocess. */
type MarkerFound =
  | {
      /**
       * In a value, which the guard fences; in text that counts as the author's own; or nowhere: the question does not contain
       * the response.
       */
      readonly status: 'guarded' | 'unguarded' | 'absent'
      /** null: its ask needs no guard. */
      readonly question: Question | null
    }
  /** The step made no question. */
  | { readonly status: 'no_question'; readonly why: string }

/** Traces a marked response through a step's rm_preprocess. Those of `embed` and `service` need no guard. */
export async function traceMarker(
  step: PlanStep,
  sample: Sample,
  functions: FunctionHost,
): Promise<MarkerFound> {
  // A body may hold only a part of the response, such as its code, and a service reads no instructions.
  if (step.ask === 'service') return { status: 'guarded', question: null }
  const marked = markedSample(sample)
  const row: CallRow = { sample: marked, earlier: earlierOf(step) }
  const other: CallRow = { sample: { ...sample, response: 'another answer' }, earlier: row.earlier }
  const rows = isOverGroup(step) ? [row, other] : [row]
  const result = await functions.call({ op: 'preprocess', function: step.function, rows })
  if (result.status === 'failed') return { status: 'no_question', why: result.failure.detail }
  const question = firstQuestion(result)
  if (question === null) return { status: 'no_question', why: 'a verdict was returned without a call' }
  if (step.ask === 'embed') return { status: 'guarded', question }
  const { trusted, untrusted } = questionTexts(withOwnTexts(question, rows))
  if (trusted.some((text) => text.includes(marker))) return { status: 'unguarded', question }
  return { status: untrusted.some((text) => text.includes(marker)) ? 'guarded' : 'absent', question }
}

/** All texts of the question that a step would ask about a sample; null if it makes none. */
export async function questionAbout(
  step: PlanStep,
  sample: Sample,
  functions: FunctionHost,
): Promise<readonly string[] | null> {
  const question = await questionOf(step, sample, functions)
  if (question === null) return null
  const { trusted, untrusted } = questionTexts(question)
  return [...trusted, ...untrusted]
}

/** The question that a step would ask about a sample, and another answer if it compares; null if it makes none. */
export async function questionOf(
  step: PlanStep,
  sample: Sample,
  functions: FunctionHost,
): Promise<Question | null> {
  const row: CallRow = { sample, earlier: earlierOf(step) }
  const other: CallRow = { ...row, sample: { ...sample, response: 'another answer' } }
  const rows = isOverGroup(step) ? [row, other] : [row]
  const result = await functions.call({ op: 'preprocess', function: step.function, rows })
  return firstQuestion(result)
}

/** The sample with a marker in its response, and so in its last turn. */
function markedSample(sample: Sample): Sample {
  const response = withMarker(sample.response)
  if (!sample.turns) return { ...sample, response }
  const last = sample.turns.findLastIndex(({ role }) => role === 'assistant')
  const turns = sample.turns.map((turn, at) =>
    at === last
      ? {
          ...turn,
          content: response,
          ...(turn.parts && { parts: [{ type: 'text' as const, text: response }] }),
        }
      : turn,
  )
  return { ...sample, response, turns }
}

/**
 * Explains why a step makes no question if the prompt is a list of messages, as many trainers send it. null
 * if it makes one.
 */
export async function refusesMessages(
  step: PlanStep,
  sample: Sample,
  functions: FunctionHost,
): Promise<string | null> {
  const prompt = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: lastUserText(sample) },
  ]
  const found = await traceMarker(step, { ...sample, prompt }, functions)
  return found.status === 'no_question' ? found.why : null
}

/** Placeholders for the earlier steps that a step reads. */
const earlierOf = ({ after }: PlanStep): CallRow['earlier'] =>
  Object.fromEntries(after.map((name) => [name, { score: { value: 0 }, texts: ['an earlier text'] }]))
