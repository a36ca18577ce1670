import { type Answers, AnswerTable } from './answers.ts'
import { arithmeticPolicy } from './arithmetic.ts'
import { constantPolicy } from './constant.ts'
import { gulliblePolicy } from './gullible.ts'
import type { Policy } from './policy.ts'
import { referencePolicy } from './reference.ts'
import { type SuccessRate, solverPolicy } from './solver.ts'

/** What a policy is made of; everything has a default. */
export interface PolicyOptions {
  /** How the model answers ('reference'). */
  readonly policy?: PolicyName | Policy
  /** Right answers for the policies that know them. */
  readonly answers?: Answers
  /** `constant`: the verdict, 0 to 1, or the reply's whole text (1). */
  readonly constant?: number | string
  /** `solver`: probability of a right answer, of all questions or by a piece of the question (0.5). */
  readonly successRate?: SuccessRate
}

type Maker = (answers: AnswerTable, options: PolicyOptions) => Policy

const makers = {
  reference: (answers) => referencePolicy(answers),
  arithmetic: () => arithmeticPolicy,
  gullible: (answers) => gulliblePolicy(referencePolicy(answers)),
  constant: (_, { constant = 1 }) => constantPolicy(constant),
  solver: (answers, { successRate = 0.5 }) => solverPolicy(answers, successRate),
} satisfies Record<string, Maker>

/** One of them. */
export type PolicyName = keyof typeof makers

/** The policies that a name stands for. */
export const policyNames = Object.keys(makers) as readonly PolicyName[]

/** The policy of a server's options. */
export function policyOf(options: PolicyOptions): Policy {
  const { policy = 'reference', answers = {} } = options
  return typeof policy === 'function' ? policy : makers[policy](new AnswerTable(answers), options)
}
