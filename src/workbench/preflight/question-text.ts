import type { Prompt } from '../../contract/index.ts'
import { questionTexts } from '../../contract/question-faults.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { guardQuestion } from '../../scoring/engine/guard/question.ts'
import { askOf } from '../../scoring/engine/judge/question.ts'
import type { CallRow } from '../../scoring/functions/function-host.ts'
import type { Rendered } from '../../scoring/models/api/ask.ts'
import { fullGuard } from '../../scoring/models/api/guard-config.ts'
import type { PlanStep } from '../../scoring/plan/plan.ts'
import { secret } from './opened-reward.ts'

/** What an author's rm_preprocess made. */
type Question = Parameters<typeof guardQuestion>[1]

/** Not behind a letter or a bracket, as in formulas. */
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

/** Names in braces that nothing was put in place of, each once and in words. */
export function placeholdersIn(question: Question): readonly string[] {
  const { trusted } = questionTexts(question)
  const left = trusted.flatMap((text) => [...text.matchAll(placeholder)].map(([, name = '']) => name))
  return [...new Set(left)].map((name) => `{${name}} stays as it is${didYouMean(name, usualNames)}`)
}

/** The prompts that a question is made of; a plain string is none. */
export function promptsOf(question: Question): readonly Prompt[] {
  if (typeof question === 'string' || Array.isArray(question)) return []
  if ('question' in question) return promptsOf(question.question)
  if (!('kind' in question)) return []
  if (question.kind === 'prompt') return [question]
  return question.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : [content]))
}

/** The question's texts as the guard of the model renders them. */
export function renderedTexts(
  step: PlanStep,
  model: string,
  question: Question,
  rows: readonly CallRow[],
): readonly Rendered[] {
  const asked = step.labels ? ({ question, labels: step.labels } as Question) : question
  const guard = step.guards.get(model) ?? fullGuard
  const { input } = guardQuestion(askOf(step), asked, secret, step.identity, guard, rows)
  if (typeof input === 'string') return [input]
  if ('labels' in input) return [input.question]
  return input.every((one) => typeof one === 'string') ? input : [input as Rendered]
}

/** For people. */
export const plainText = (text: Rendered): string =>
  typeof text === 'string' ? text : text.map(({ role, content }) => `[${role}]\n${content}`).join('\n')
