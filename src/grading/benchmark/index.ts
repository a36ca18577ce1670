/** How Qwen2.5-Math's evaluation harness grades its benchmarks, faults included: extract, strip, compare. */

export { gradedChoice, publishedAnswer, readChoice, stripAnswer } from './answer.ts'
export {
  answerField,
  type Benchmark,
  type BenchmarkLine,
  benchmarks,
  gradedAnswer,
  type PublishedGrade,
  preparedAnswer,
  preparedLine,
  publishedEqual,
  publishedGrade,
} from './grade.ts'
