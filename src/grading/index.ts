/** Pure readers of model text. All input is hostile: no reader throws or takes more than n log n time. */

export * from './answer/choice.ts'
export * from './answer-place.ts'
export * from './arithmetic.ts'
export * from './characters.ts'
export * from './grader-template.ts'
export * from './json/identity.ts'
export * from './json/json.ts'
export * from './json/pointer.ts'
export * from './latex.ts'
export * from './lean.ts'
export * from './number-answer.ts'
export * from './prime.ts'
export { promptText } from './prompt-text.ts'
export * from './python.ts'
export { readPythonList } from './python-literal.ts'
export * from './repetition.ts'
export * from './rider.ts'
export * from './rubric/published-judges.ts'
export * from './rubric/published-questions.ts'
export * from './rubric/published-replies.ts'
export * from './rubric/questions.ts'
export * from './rubric/replies.ts'
export { holdsRubric, type Rubric, readRubric, rubricOf } from './rubric/rows.ts'
export {
  type Criterion,
  criterionKey,
  criterionLabel,
  type RubricForm,
  type RubricProblem,
  rubricLimits,
} from './rubric/rubric-row.ts'
export * from './rubric/sums.ts'
export * from './rubric/verdict.ts'
export * from './search-answer.ts'
export * from './similarity.ts'
export * from './tags.ts'
export * from './verdicts.ts'
export * from './words.ts'
