import type { SimulatedServerOptions } from '../options.ts'
import { AnswerTable } from './answers.ts'
import { arithmeticPolicy } from './arithmetic.ts'
import { constantPolicy } from './constant.ts'
import { gulliblePolicy } from './gullible.ts'
import type { Policy } from './policy.ts'
import { referencePolicy } from './reference.ts'
import { solverPolicy } from './solver.ts'

type Maker = (answers: AnswerTable, options: SimulatedServerOptions) => Policy

const makers = {
  reference: (answers) => referencePolicy(answers),
  arithmetic: () => arithmeticPolicy,
  gullible: (answers) => gulliblePolicy(referencePolicy(answers)),
  constant: (_, { constant = 1 }) => constantPolicy(constant),
  solver: (answers, { successRate = 0.5 }) => solverPolicy(answers, successRate),
} satisfies Record<string, Maker>

export type PolicyName = keyof typeof makers

/** The policies that a name stands for. */
export const policyNames = Object.keys(makers) as readonly PolicyName[]

/** The policy of a server's options. */
export function policyOf(options: SimulatedServerOptions): Policy {
  const { policy = 'reference', answers = {} } = options
  return typeof policy === 'function' ? policy : makers[policy](new AnswerTable(answers), options)
}
