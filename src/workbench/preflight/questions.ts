import { emptyPlaces } from '../../contract/prompt.ts'
import { holdsNothing } from '../../contract/question-faults.ts'
import type { Sample } from '../../core/sample/sample.ts'
import { rowOf } from '../../scoring/engine/step.ts'
import type { CallResult } from '../../scoring/functions/function-host.ts'
import type { PlanStep } from '../../scoring/plan/plan.ts'
import { ignorance } from '../dataset/known-answers.ts'
import type { FindingName, Findings } from './finding.ts'
import type { Item } from './item.ts'
import { earlierOf, traceMarker } from './marker.ts'
import type { OpenedReward } from './opened-reward.ts'
import { placeholdersIn, plainText, promptsOf, renderedTexts } from './question-text.ts'
import { takesText } from './takes-text.ts'
import { Windows } from './windows.ts'

/** A judge's question about a right answer, as its server would get it. */
export interface ShownQuestion {
  readonly row: string
  readonly step: string
  readonly model: string
  readonly text: string
}

/** What was seen of one row; rows are looked at together, and told of in their order. */
interface Seen {
  readonly found: (readonly [FindingName, string])[]
  readonly shown: ShownQuestion[]
}

const shownRows = 3

/** What judges would be asked about the right answers: whether it holds them, and whether it fits. */
export class Questions {
  readonly shown: ShownQuestion[] = []
  readonly #reward: OpenedReward
  readonly #findings: Findings
  readonly #windows: Windows
  readonly #answerTokens: number | null
  #rows = 0

  /** `answerTokens`: how long answers may get in training; null: as long as the right ones. */
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

  async #lookAtRow(item: Item): Promise<Seen> {
    const seen: Seen = { found: [], shown: [] }
    for (const step of this.#reward.plan.steps) {
      const isOn = step.dataSource === null || step.dataSource.matches(item.sample.dataSource)
      if (step.ask !== null && isOn) await this.#lookAtStep(step, item, seen)
    }
    return seen
  }

  async #lookAtStep(step: PlanStep, item: Item, { found, shown }: Seen): Promise<void> {
    const { sample } = rowOf(step, item.sample, [])
    const where = `step ${step.name}`
    const asked = await this.#asked(step, sample)
    if (asked.status === 'failed' && asked.failure.detail === holdsNothing) {
      for (const left of placeholdersIn({ kind: 'prompt', literals: [sample.rmPrompt ?? ''], values: [] }))
        found.push(['template-placeholder', `${where}: ${left} in the question`])
      return void found.push(['response-not-in-question', `${where}: the question does not hold the answer`])
    }
    if (asked.status === 'failed')
      return void found.push(['failing-question', `${where}: ${asked.failure.detail}`])
    if (asked.status === 'verdicts')
      return void found.push(['no-question', `${where} asks nothing about the right answer`])
    if (typeof sample.groundTruth === 'string' && !(await this.#takesText(step)))
      found.push(['truth-from-text', `${where}: the ground truth is what its JSON text says`])
    for (const left of placeholdersIn(asked.question))
      found.push(['template-placeholder', `${where}: ${left} in the question`])
    if (step.ask === 'rewards' && promptsOf(asked.question).every(({ steps }) => steps === undefined))
      found.push(['undeclared-steps', `${where}: how many steps the question has is not said`])
    if (promptsOf(asked.question).some((one) => emptyPlaces(one).length > 0))
      found.push(['empty-value', `${where}: a value of the question is empty`])
    const { status } = await traceMarker(step, sample, this.#reward.functions)
    if (status === 'absent')
      found.push(['response-not-in-question', `${where}: the question does not hold the answer`])
    if (status === 'unguarded')
      found.push(['unguarded-response', `${where}: the answer could speak to the judge`])
    for (const [at, model] of step.models.entries()) {
      const texts = renderedTexts(step, model, asked.question, [{ sample, earlier: earlierOf(step) }])
      if (at === 0)
        shown.push({ row: item.place, step: step.name, model, text: texts.map(plainText).join('\n') })
      const tooLong = await this.#tooLong(step, model, texts, sample)
      if (tooLong !== null) found.push(['prompt-too-long', `${where}: ${tooLong}`])
    }
  }

  #asked(step: PlanStep, sample: Sample): Promise<CallResult> {
    const row = { sample, earlier: earlierOf(step) }
    const other = { ...row, sample: { ...sample, response: ignorance } }
    const rows = step.kind === 'model' ? [row] : [row, other]
    return this.#reward.functions.call({ op: 'preprocess', function: step.function, rows })
  }

  /** A question was made of a text that the schema does not take as one: it was made of what the text says. */
  async #takesText({ function: { name } }: PlanStep): Promise<boolean> {
    return takesText((await this.#reward.functions.describe(name)).truthSchema)
  }

  async #tooLong(
    step: PlanStep,
    model: string,
    texts: ReturnType<typeof renderedTexts>,
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
