/** A step's questions as a person reads them: their texts, and how many there are. */

import type { DecisionQuestion } from '../../contract/index.ts'
import { type GuardedQuestion, guardQuestion } from '../../scoring/engine/guard/guarded-question.ts'
import { askOf } from '../../scoring/engine/judge/step-question.ts'
import { isOverGroup } from '../../scoring/engine/step.ts'
import type { CallRow } from '../../scoring/functions/function-host.ts'
import type { Rendered } from '../../scoring/models/interface/ask.ts'
import { asChat, type DecideWire } from '../../scoring/models/interface/decide-wires.ts'
import { fullGuard } from '../../scoring/models/interface/model-config.ts'
import { isImage, RenderedMessage } from '../../scoring/models/interface/question-json.ts'
import type { PlanStep } from '../../scoring/plan/plan.ts'
import { secret } from './opened-reward.ts'

/** The result of an author's rm_preprocess. */
export type Question = Parameters<typeof guardQuestion>[1]

type Input = GuardedQuestion['input']

/** A question as the model's guard renders it. */
export function askedInput(
  step: PlanStep,
  model: string,
  question: Question,
  rows: readonly CallRow[],
): Input {
  const asked = step.labels ? ({ question, labels: step.labels } as Question) : question
  const guard = step.guards.get(model) ?? fullGuard
  return guardQuestion(askOf(step), asked, secret, step.identity, guard, rows).input
}

/** Its texts, of which each must fit into the model's window. */
export function textsOf(input: Input): readonly Rendered[] {
  if (typeof input === 'string') return [input]
  if ('labels' in input) return [input.question]
  if ('json' in input) return [input.json]
  if ('about' in input) return [asChat(input)]
  return input.every((one) => typeof one === 'string') ? input : [input as Rendered]
}

/** The whole question. Where the server words it, its parts. */
export function shownText(input: Input, wire: DecideWire): string {
  if (typeof input === 'object' && 'about' in input && wire !== 'choose')
    return `${plainText(input.about)}\n[question, worded by the server: decide.wire ${wire}]\n${input.asked.question}\n[answers]\n${answersIn(input.asked).join('\n')}`
  return textsOf(input).map(plainText).join('\n')
}

function answersIn({ as }: DecisionQuestion): readonly string[] {
  if ('levels' in as) return as.levels
  const named =
    'yesno' in as
      ? (['yes', 'no'] as const).map((name) => ({ name, description: as.yesno[name] }))
      : as.choice
  return named.map(({ name, description }) => (description ? `${name} - ${description}` : name))
}

const plainText = (text: Rendered): string =>
  typeof text === 'string'
    ? text
    : text.map((message) => `[${message.role}]\n${contentWithImages(message)}`).join('\n')

/** Images stand where the judge sees them. */
const contentWithImages = (message: Exclude<Rendered, string>[number]): string =>
  RenderedMessage.piecesOf(message)
    .map((piece) => {
      if (!isImage(piece)) return typeof piece === 'string' ? piece : piece.text
      const { size, mediaType, url } = piece.image
      return url === undefined ? `[image: ${mediaType}, ${size} bytes]\n` : `[image: ${url}]\n`
    })
    .join('')

/** How many questions a step asks about some rows, for people. A second judge may be asked each of them again. */
export function countMessage(step: PlanStep, questions: number): string {
  const { name, escalate, ask } = step
  const of = isOverGroup(step) ? 'group' : 'answer'
  const count = escalate ? 2 * questions : questions
  const second = escalate ? `, half of them to ${escalate.model}` : ''
  const hint = ask === 'decide' ? '; those about one answer share requests' : fewerHint(step)
  return `step ${name}: at most ${count} questions for one ${of} to each of these rows${second}${hint}`
}

/** What would ask fewer. */
function fewerHint({ function: { name, options } }: PlanStep): string {
  const { ask = 'each', code } = (options ?? {}) as Readonly<Record<string, unknown>>
  const isEach = name === 'rubric-judge' && code === undefined && ask === 'each'
  return isEach ? '; ask: batch and ask: all ask fewer' : ''
}
