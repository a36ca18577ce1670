/**
 * `reward-gateway/grading`: readers of model text for authors of reward functions. Pure; none throws, and hostile text costs
 * none of them more than n log n. What only this package's own functions read with stands in index.ts.
 */
export { type AnswerPlace, answerAt, answerPlaces, type PlacedAnswer } from './answer-place.ts'
export { binaryVerdict } from './binary-verdict.ts'
export { codePointsOf, countCodePoints, lastCodePoints } from './code-points.ts'
export { cosine } from './embedding-similarity.ts'
export { firstDifference } from './json/difference.ts'
export { type JsonReading, type JsonValue, readJson } from './json/json.ts'
export { labelVerdict } from './label-verdict.ts'
export { boxContent, boxContents, lastBox } from './latex/box.ts'
export { readDecimal } from './number/decimal.ts'
export { equalFractions, type Fraction, readFraction } from './number/fraction.ts'
export { lastNumber } from './number/last-number.ts'
export { finalNumber, soleNumber, valueOfNumber } from './number/written-number.ts'
export { type Ignorable, ignorable, plainText } from './plain-text.ts'
export { readFloat, readInteger } from './python/number.ts'
export { hasLoop } from './repetition/repetition.ts'
export { type StatedChoice, statedChoice } from './stated-choice.ts'
export { type TagFormat, tagFormat } from './tag-format.ts'
export { blocks, pairedBlocks, soleBetween, soleFence } from './tags.ts'
export {
  isComparable,
  type SimilarityMetric,
  similarityMetrics,
  textSimilarity,
} from './text-similarity.ts'
export { afterThink } from './think.ts'
export { trimSpace, whiteSpace } from './white-space.ts'
export { repeatedShare, words } from './words.ts'
