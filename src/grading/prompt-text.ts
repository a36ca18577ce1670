/** A reader of its own, for reward functions, which import from no other wing than contract and grading. */
export { promptText } from '../core/sample/sample.ts'
