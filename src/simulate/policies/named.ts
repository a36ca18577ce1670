import type { SimulatedServerOptions } from '../options.ts'
import { AnswerTable } from './answers.ts'
import { arithmeticPolicy } from './arithmetic.ts'
import { constantPolicy } from './constant.ts'
import type { Policy } from './policy.ts'
import { referencePolicy } from './reference.ts'

/** The policies that a name stands for. */
export const policyNames = ['reference', 'arithmetic', 'constant'] as const

export type PolicyName = (typeof policyNames)[number]

/** The policy of a server's options. */
export function policyOf({
  policy = 'reference',
  answers = {},
  constant = 1,
}: SimulatedServerOptions): Policy {
  if (typeof policy === 'function') return policy
  const table = new AnswerTable(answers)
  switch (policy) {
    case 'reference':
      return referencePolicy(table)
    case 'arithmetic':
      return arithmeticPolicy
    case 'constant':
      return constantPolicy(constant)
  }
}
