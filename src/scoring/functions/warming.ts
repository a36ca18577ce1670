/**
 * Warms functions of the package before a server says that it is ready. V8 compiles a pattern when it is first used, in each
 * thread anew: the first rows of a rule cost as much as hundreds of later ones. A row of our own pays for that. It is in no
 * metric and no record, and what it scores does not matter.
 */
import type { Sample } from '../../core/sample/sample.ts'
import type { FunctionJob } from './job.ts'

/** Has what most rules look for: thinking, a number with its marks, words after it. */
const sample: Sample = {
  id: 'warming',
  prompt: 'How many apples are there?',
  response:
    '<think>\nWe add the 40 apples of one day to the 2 of the next.\n</think>\n\nThe answer is \\boxed{42}, as we counted.\n#### 42',
  groundTruth: '42',
  rmPrompts: {},
  extraInfo: {},
}

/** V8 compiles a pattern to machine code the second time that it is used. */
const times = 2

/** The calls that warm a function. `options`: as JSON text. One that takes other rows refuses them, which costs nothing. */
export const warmingCalls = (name: string, options: string): readonly FunctionJob[] =>
  Array.from({ length: times }, () => ({
    type: 'call',
    name,
    op: 'score',
    options,
    rows: [{ sample, earlier: {} }],
  }))
