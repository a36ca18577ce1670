/** How Qwen2.5-Math's evaluation harness grades its benchmarks, faults included: extract, strip, compare. */
export {
  answerField,
  type Benchmark,
  type BenchmarkLine,
  benchmarks,
  preparedAnswer,
  preparedLine,
} from './ground-truth.ts'
export { publishedAnswer } from './published-answer.ts'
export { gradedChoice, readChoice } from './published-choice.ts'
export { publishedEqual } from './published-equal.ts'
export { gradedAnswer, type PublishedGrade, publishedGrade } from './published-grade.ts'
export { stripAnswer } from './strip-answer.ts'
