import { type ZodType, z } from 'zod'
import type { Range, RewardFunction } from '../../../contract/index.ts'
import type { Problem } from '../../../core/errors.ts'
import type { Json } from '../../../core/sample/sample.ts'
import type { JobResult } from '../job.ts'
import { errorPlace } from './error-text.ts'
import { freeze } from './freeze.ts'

/** What the main thread knows of a function. */
export function describe(name: string, fn: RewardFunction): JobResult {
  return {
    type: 'described',
    description: {
      name,
      kind: fn.kind,
      ask: 'ask' in fn ? fn.ask : null,
      critique: fn.kind === 'model' && fn.rm_postprocess === undefined,
      truthSchema: truthSchema(fn),
      optionsSchema: jsonSchema(() => fn.options),
    },
  }
}

/** Parses options and says what depends on them. */
export function bind(fn: RewardFunction, text: string): JobResult {
  try {
    const parsed = fn.options.safeParse(JSON.parse(text))
    if (!parsed.success) return { type: 'refused', problems: problemsOf(parsed.error) }
    const options = freeze(parsed.data)
    const range: unknown = fn.range(options)
    const [low, high] = Array.isArray(range) ? (range as unknown[]) : []
    if (!isRange(low, high))
      return refused('the `range` of the function gives no [low, high] for these options')
    const parts = fn.parts(options)
    if (typeof fn.truth(options)?.safeParse !== 'function')
      return refused('the `truth` of the function gives no zod schema for these options')
    const reply = !('ask' in fn) ? undefined : typeof fn.reply === 'function' ? fn.reply(options) : fn.reply
    const limits: Range = [low as number, high as number]
    return { type: 'bound', bound: { range: limits, parts: [...parts], ...(reply && { reply }) } }
  } catch (error) {
    return refused(`the function ${errorPlace(error)}`)
  }
}

/** One line an issue: where in the value, and what zod says of it. */
export function problemsOf(error: z.ZodError): Problem[] {
  return error.issues.map(({ path, message }) => ({ path: z.core.toDotPath(path), message }))
}

/** Infinite ends are allowed. */
const isRange = (low: unknown, high: unknown): boolean =>
  typeof low === 'number' && typeof high === 'number' && low <= high

const refused = (message: string): JobResult => ({ type: 'refused', problems: [{ path: '', message }] })

function truthSchema(fn: RewardFunction): Json {
  return jsonSchema(() => fn.truth(fn.options.parse({})))
}

/** null where the schema cannot be said as JSON Schema, or needs options that have no defaults. */
function jsonSchema(schema: () => ZodType): Json {
  try {
    return z.toJSONSchema(schema(), { io: 'input', unrepresentable: 'any' }) as Json
  } catch {
    return null
  }
}
