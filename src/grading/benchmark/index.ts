/** Qwen2.5-Math's evaluation harness, faults included: it extracts, strips and compares answers. */

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
