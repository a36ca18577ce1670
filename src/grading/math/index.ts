/**
 * Mathematical answers: find what a response states (`statement`), parse it (`read-answer`: tokens, terms,
 * atoms), and compare it with a truth (`compare`: exact fractions, polynomials with radicals, otherwise
 * values at many points).
 */
export { type Comparison, type Decision, decisions } from './decision.ts'
export type { Expression } from './expression.ts'
export { readAnswer } from './read-answer.ts'
export { finalStatement, type Statement, type Unstated } from './statement.ts'
export {
  equalMath,
  equalMathAnswers,
  type MathEquality,
  type MathTruth,
  type MathVerdict,
  readMathTruth,
  symbolicallyEqual,
  usualComparison,
  verifyBoxed,
  verifyMath,
} from './verify.ts'
