import type { PartQuestion, PartQuestions, Prompt } from '../../../contract/index.ts'
import { questionFault } from '../../../contract/question.ts'
import { wholeQuestion } from '../../../contract/questions.ts'
import type { Score } from '../../../core/sample/sample.ts'
import type { CallRow } from '../function-host.ts'
import {
  ContractViolation,
  checkVerdict,
  lengthLimit,
  nameOf,
  promptText,
  refusePromise,
  type VerdictLimits,
  wrong,
} from './check-results.ts'

const mostQuestions = 1024

/** A checked copy of several questions; throws ContractViolation. `scores`: how many each gives that does not say so. */
export function checkQuestions(value: unknown, rows: readonly CallRow[], scores: number): PartQuestions {
  refusePromise(value, 'rm_preprocess')
  const { about, questions } = (
    typeof value === 'object' && value !== null ? value : {}
  ) as Partial<PartQuestions>
  if (!Array.isArray(questions) || questions.length === 0 || questions.length > mostQuestions)
    throw wrong(`${nameOf(value)}, not { about, questions } with 1 to ${mostQuestions} questions`)
  const left = { length: lengthLimit }
  const shared = promptOf(about, left)
  const copies = questions.map((one: Partial<PartQuestion> | null): PartQuestion => {
    const { question, reply, scores: own = scores, stage = 0 } = one ?? {}
    if (!isCount(own, 1, mostScores) || !isCount(stage, 0, mostQuestions))
      throw wrong('a question whose scores or stage is no whole number')
    return { question: promptOf(question, left), ...(reply && { reply }), scores: own, stage }
  })
  const fault = questionFault('generate', wholeQuestion(shared, copies[0] as PartQuestion), rows)
  if (fault) throw new ContractViolation(fault.detail, fault.isOfRow ? 'bad_sample' : null)
  return { about: shared, questions: copies }
}

const isCount = (value: unknown, least: number, most: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most

function promptOf(value: unknown, left: { length: number }): Prompt {
  const text = promptText(value, left)
  if (typeof text === 'string' || text.kind !== 'prompt')
    throw wrong('a question that prompt`...` did not make')
  return text
}

/** The checked scores of one of several questions. Their range is the function's own affair. */
export function checkPartScores(scores: unknown): (Score | null)[] {
  refusePromise(scores, 'rm_postprocess')
  if (!Array.isArray(scores) || scores.length === 0 || scores.length > mostScores)
    throw new ContractViolation(`rm_postprocess returned ${nameOf(scores)}, not 1 to ${mostScores} scores`)
  return Array.from(scores, (score) => checkVerdict(score, anyScore, null))
}

const anyScore: VerdictLimits = {
  hook: 'rm_postprocess',
  range: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  parts: [],
  outOfRange: 'judge_out_of_range',
}

const mostScores = 1024
