import type { PartAsk, PartDecision, PartQuestion, PartQuestions, Prompt } from '../../../contract/index.ts'
import { questionFault } from '../../../contract/question.ts'
import { askedPart } from '../../../contract/questions.ts'
import type { Score } from '../../../core/sample/sample.ts'
import type { CallRow } from '../function-host.ts'
import {
  ContractViolation,
  checkDecision,
  checkVerdict,
  lengthLimit,
  nameOf,
  promptText,
  refusePromise,
  type VerdictLimits,
  wrong,
} from './check-results.ts'

const mostQuestions = 1024

/**
 * A checked copy of several questions; throws ContractViolation. `scores`: how many each gives that does not say so.
 */
export function checkQuestions(
  ask: PartAsk,
  value: unknown,
  rows: readonly CallRow[],
  scores: number,
): PartQuestions {
  refusePromise(value, 'rm_preprocess')
  const { about, questions } = (typeof value === 'object' && value !== null ? value : {}) as Given
  if (!Array.isArray(questions) || questions.length === 0 || questions.length > mostQuestions)
    throw wrong(`${nameOf(value)}, not { about, questions } with 1 to ${mostQuestions} questions`)
  const left = { length: lengthLimit }
  const shared = promptOf(about, left)
  const copies = questions.map((one: GivenPart | null) => {
    const { stage = 0, names, criteria } = one ?? {}
    if (!isCount(stage, 0, mostQuestions)) throw wrong('a question whose stage is no whole number')
    const part = {
      stage,
      ...(names !== undefined && { names: namesOf(names, 'names') }),
      ...(criteria !== undefined && { criteria: namesOf(criteria, 'criteria') }),
    }
    if (ask === 'decide') return { ...checkDecision(one), ...part }
    const { question, reply, scores: own = scores } = one ?? {}
    if (!isCount(own, 1, mostScores)) throw wrong('a question whose scores are no whole number')
    return { question: promptOf(question, left), ...(reply && { reply }), scores: own, ...part }
  })
  const fault = questionFault(ask, askedPart(shared, copies[0] as PartQuestion | PartDecision), rows)
  if (fault) throw new ContractViolation(fault.detail, fault.isOfRow ? 'bad_sample' : null)
  return { about: shared, questions: copies as PartQuestions['questions'] }
}

type Given = { readonly about?: unknown; readonly questions?: unknown }
type GivenPart = Partial<Omit<PartQuestion & PartDecision, 'question'>> & { readonly question?: unknown }

const longestName = 200

function namesOf(names: unknown, field: 'names' | 'criteria'): readonly string[] {
  if (!Array.isArray(names) || names.length > mostScores || !names.every((name) => typeof name === 'string'))
    throw wrong(`a question whose ${field} are no list of texts`)
  return names.map((name: string) => name.slice(0, longestName))
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
