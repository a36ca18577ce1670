import { statementsOf } from '../arithmetic.ts'
import type { Policy } from './policy.ts'

/** Right where every equation written in the answer holds; nothing to go by where there is none. */
export const arithmeticPolicy: Policy = ({ answer }) => {
  const statements = statementsOf(answer)
  if (statements.length === 0) return null
  const wrong = statements.find((statement) => !statement.holds)
  if (wrong) return { score: 0, reason: `A step gives ${wrong.right} where ${wrong.left} is right.` }
  return { score: 1, reason: `All ${statements.length} steps hold.` }
}
