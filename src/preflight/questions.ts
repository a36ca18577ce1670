import { askOf } from '../engine/draw.ts'
import { type GuardedQuestion, guardQuestion } from '../engine/guard/question.ts'
import { rowOf } from '../engine/step.ts'
import type { CallResult } from '../functions/function-host.ts'
import { fullGuard } from '../models/guard-config.ts'
import type { Rendered } from '../models/models.ts'
import { didYouMean } from '../nearest-name.ts'
import { earlierOf, questionTexts, traceMarker } from '../plan/marker.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { Sample } from '../sample/sample.ts'
import type { Findings } from './finding.ts'
import { type Item, ignorance } from './item.ts'
import { type Subject, secret } from './subject.ts'
import { Windows } from './windows.ts'

/** A judge's question about a right answer, as its server would get it. */
export interface ShownQuestion {
  readonly row: string
  readonly step: string
  readonly model: string
  readonly text: string
}

const shownRows = 3
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

/** What judges would be asked about the right answers: whether it holds them, and whether it fits. */
export class Questions {
  readonly shown: ShownQuestion[] = []
  readonly #subject: Subject
  readonly #findings: Findings
  readonly #windows: Windows
  #rows = 0

  constructor(subject: Subject, findings: Findings, signal: AbortSignal) {
    this.#subject = subject
    this.#findings = findings
    this.#windows = new Windows(subject, findings, signal)
  }

  async look(item: Item): Promise<void> {
    this.#rows++
    for (const step of this.#subject.plan.steps) {
      const isOn = step.dataSource === null || step.dataSource.matches(item.sample.dataSource)
      if (step.ask === null || !isOn) continue
      await this.#lookAt(step, item)
    }
  }

  async #lookAt(step: PlanStep, item: Item): Promise<void> {
    const { sample } = rowOf(step, item.sample, [])
    const asked = await this.#asked(step, sample)
    const where = `step ${step.name}`
    if (asked.status === 'failed')
      return this.#findings.add('failing-question', `${where}: ${asked.failure.detail}`, item.place)
    if (asked.status === 'verdicts')
      return this.#findings.add('no-question', `${where} asks nothing about the right answer`, item.place)
    const { trusted } = questionTexts(asked.question)
    const left = trusted.flatMap((text) => [...text.matchAll(placeholder)].map(([, name = '']) => name))
    for (const name of new Set(left)) {
      const hint = didYouMean(name, usualNames)
      this.#findings.add(
        'template-placeholder',
        `${where}: {${name}} stays in the question${hint}`,
        item.place,
      )
    }
    const { status } = await traceMarker(step, sample, this.#subject.functions)
    if (status === 'absent')
      this.#findings.add(
        'response-not-in-question',
        `${where}: the question does not hold the answer`,
        item.place,
      )
    if (status === 'unguarded')
      this.#findings.add('unguarded-response', `${where}: the answer could speak to the judge`, item.place)
    for (const model of step.models) await this.#measure(step, model, asked.question, item)
  }

  #asked(step: PlanStep, sample: Sample): Promise<CallResult> {
    const row = { sample, earlier: earlierOf(step) }
    const other = { ...row, sample: { ...sample, response: ignorance } }
    const rows = step.kind === 'model' ? [row] : [row, other]
    return this.#subject.functions.call({ op: 'preprocess', function: step.function, rows })
  }

  async #measure(
    step: PlanStep,
    model: string,
    question: Parameters<typeof guardQuestion>[1],
    { place }: Item,
  ): Promise<void> {
    const asked = step.soft ? ({ question, labels: step.soft } as typeof question) : question
    const guard = step.guards.get(model) ?? fullGuard
    const texts = textsOf(guardQuestion(askOf(step), asked, secret, step.identity, guard))
    if (this.#rows <= shownRows && model === step.models[0])
      this.shown.push({ row: place, step: step.name, model, text: texts.map(plainText).join('\n') })
    const config = this.#subject.resolved.models.get(model)
    const answerTokens = step.sampling?.max_tokens ?? config?.sampling.max_tokens ?? 0
    const window = await this.#windows.of(model, step.ask === 'generate' ? answerTokens : 0)
    for (const text of texts) {
      if ((await window.tokensOf(text)) <= window.limit) continue
      const message = `step ${step.name}: the question is longer than the ${window.limit} tokens that ${model} takes`
      this.#findings.add('prompt-too-long', message, place)
    }
  }
}

function textsOf({ input }: GuardedQuestion): readonly Rendered[] {
  if (typeof input === 'string') return [input]
  if ('labels' in input) return [input.question]
  return input.every((one) => typeof one === 'string') ? input : [input as Rendered]
}

const plainText = (text: Rendered): string =>
  typeof text === 'string' ? text : text.map(({ role, content }) => `[${role}]\n${content}`).join('\n')
