/** Contract tests of rules and judges, and rows to call any function with. Knows no test runner. */
export { type JudgeCases, judgeContract, type TestAnswer } from './judge-contract.ts'
export { type RuleCases, ruleContract, scored } from './rule-contract.ts'
export { type RowParts, row } from './test-row.ts'
export type { TestRunner } from './test-runner.ts'
