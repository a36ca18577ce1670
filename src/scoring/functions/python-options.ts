import { z } from 'zod'
import type { Range } from '../../contract/index.ts'
import type { Problem } from '../../core/errors.ts'

/** What a config may say of a function in Python, which declares nothing itself. */
export const pythonOptions = z.strictObject({
  function: z.string().optional().describe('which of the functions that the file defines'),
  kwargs: z.record(z.string(), z.unknown()).default({}).describe('further keyword arguments of the function'),
  range: z
    .tuple([z.number().nullable(), z.number().nullable()])
    .optional()
    .describe('lowest and highest legal score; null, or no range: no limit'),
  truth: z
    .enum(['as_sent', 'json'])
    .default('as_sent')
    .describe('json: a ground truth that is a text is read as JSON; one that is none makes a bad_sample'),
  parts: z
    .array(z.string())
    .default([])
    .describe('entries of a returned dict that are components of the score'),
})

/** What a Python function's options say of its verdicts. */
export interface PythonBinding {
  readonly range: Range
  readonly parts: readonly string[]
  readonly truth: 'as_sent' | 'json'
  readonly warning?: string
}

const noRange =
  'no range is declared, so any number is taken for a score: write `range: [low, high]` into its options, null for an end without a limit'

/** What the options say of verdicts, or what is wrong with them. */
export function readPythonOptions(options: unknown): PythonBinding | readonly Problem[] {
  const parsed = pythonOptions.safeParse(options)
  if (!parsed.success) {
    return parsed.error.issues.map(({ path, message }) => ({ path: z.core.toDotPath(path), message }))
  }
  const [low, high] = parsed.data.range ?? [null, null]
  const range: Range = [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY]
  if (range[0] > range[1]) return [{ path: 'range', message: 'the lowest score is above the highest' }]
  const { parts, truth } = parsed.data
  const binding = { range, parts, truth }
  return parsed.data.range ? binding : { ...binding, warning: noRange }
}
