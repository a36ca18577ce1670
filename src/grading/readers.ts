/**
 * `reward-gateway/grading`: readers of model text for authors of reward functions. They are pure and never
 * throw, and hostile text costs at most n log n. Readers for this package's own functions are in index.ts.
 */

export { type StatedChoice, statedChoice } from './answer/choice.ts'
export { type AnswerPlace, answerAt, answerPlaces, type PlacedAnswer } from './answer-place.ts'
export { equalFractions, type Fraction, readFraction } from './arithmetic.ts'
export { type Assertion, readAssert } from './assertion.ts'
export {
  codePointsOf,
  countCodePoints,
  type Ignorable,
  ignorable,
  isBlank,
  lastCodePoints,
  plainText,
  trimSpace,
  whiteSpace,
} from './characters.ts'
export { firstDifference } from './json/identity.ts'
export { type JsonReading, type JsonValue, readJson } from './json/json.ts'
export { type Pointer, readPointer, valueAt } from './json/pointer.ts'
export { boxContent, boxContents, lastBox } from './latex.ts'
export { leanAccepts } from './lean.ts'
export { finalNumber, lastNumber, readDecimal, soleNumber, valueOfNumber } from './number-answer.ts'
export { lastFence, programFences, programIn } from './program.ts'
export { readFloat, readInteger } from './python.ts'
export { hasLoop } from './repetition.ts'
export {
  cosine,
  isComparable,
  type SimilarityMetric,
  similarityMetrics,
  textSimilarity,
} from './similarity.ts'
export {
  afterThink,
  blocks,
  pairedBlocks,
  soleBetween,
  soleFence,
  type TagFormat,
  tagFormat,
} from './tags.ts'
export { binaryVerdict, labelVerdict } from './verdicts.ts'
export { repeatedShare, words } from './words.ts'
