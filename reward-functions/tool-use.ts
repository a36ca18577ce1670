import { z } from 'zod'
import {
  defineRule,
  finalAnswer,
  RuleTimeout,
  type Sample,
  type Score,
  toolCallsOf,
} from '../src/contract/index.ts'
import { JsonIdentities, typed } from '../src/grading/json/identity.ts'
import { type ExactJson, readJson } from '../src/grading/json/json.ts'
import { CheckTooLong, schemaCheck } from '../src/grading/json/schema.ts'
import { linearPattern } from '../src/grading/regex.ts'
import { callEnd, callStart, exactText, structuredCalls, textCalls } from '../src/grading/tool-calls.ts'

const count = z.int().min(0)

const schema = z.union([z.record(z.string(), z.unknown()), z.string()]).superRefine((given, context) => {
  try {
    schemaCheck(given)
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
  }
})

const pattern = z.string().superRefine((source, context) => {
  try {
    linearPattern(source)
  } catch (error) {
    context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
  }
})

const options = z.strictObject({
  /** Names of tools that may be called. If absent: any. */
  allowed: z.array(z.string().min(1)).min(1).optional(),
  /** By name of a tool, the JSON Schema (draft 2020-12) of its arguments, as an object or as JSON text. */
  arguments: z.record(z.string().min(1), schema).optional(),
  /** Names of tools that must be called in this order. Other calls may stand between them. */
  order: z.array(z.string().min(1)).min(1).optional(),
  /** The fewest calls. With 0, a rollout without a call pays as if it had made them all well. */
  min_calls: count.default(1),
  max_calls: count.optional(),
  /** The most calls that repeat an earlier one: the same name and equal arguments. */
  max_repeats: count.optional(),
  /** The most results that are errors. */
  max_errors: count.optional(),
  /**
   * What an error looks like, in RE2 syntax. If absent: JSON whose `error`, `isError` or `is_error` is not empty or whose
   * `status` is `error`, and texts that begin with `Error`, `Exception` or `Traceback`.
   */
  error_pattern: pattern.optional(),
  /** `all`: 1 if every condition holds, else 0. `each`: the share of conditions that hold. */
  credit: z.enum(['all', 'each']).default('all'),
})

type Options = z.output<typeof options>

/** A condition: whether the calls keep it, and if not, the place of the first that does not. */
type Checked = { readonly holds: boolean; readonly at?: string }

/** A call. `given`: its arguments; null if it is malformed. `result`: null if none answers it. */
interface Call {
  readonly name: string
  readonly given: ExactJson
  readonly result: string | null
}

type Calls = readonly Call[]

/**
 * Conditions on the tool calls of a rollout: those that the trainer sent as such, of all turns, or else `<tool_call>` JSON in
 * the final answer, which has no results. `details.read` says which. Pays 1 if all hold, else 0; with `credit: each`,
 * the share that holds. Each condition is a part, 1 or 0: `well_formed` (always), `min_calls`, and those that the options
 * name. `details` has the counts, and which call broke what.
 *
 * Invalid: a schema check over its budget (`rule_timeout`). Reads no ground truth.
 */
export default defineRule({
  truth: z.unknown(),
  options,
  range: [0, 1],
  parts: (options) => namesOf(options),
  score({ sample, options }): Score {
    const { read, calls } = callsOf(sample)
    const parts: Record<string, number> = {}
    const broken: Record<string, string> = {}
    for (const name of namesOf(options)) {
      const { holds, at } = conditions[name](calls, options)
      parts[name] = Number(holds)
      if (!holds) broken[name] = at ?? 'not met'
    }
    const held = Object.values(parts).reduce((sum, part) => sum + part, 0)
    const share = held / Object.keys(parts).length
    return {
      value: options.credit === 'each' ? share : Math.floor(share),
      parts,
      details: { read, calls: calls.length, ...(share < 1 && { broken }) },
    }
  },
})

function callsOf(sample: Sample): { readonly read: 'structured' | 'text'; readonly calls: Calls } {
  const sent = toolCallsOf(sample)
  if (sent.length > 0) {
    const isLossy = sample.flags?.includes('non_finite_input')
    const calls = sent.map((call): Call => {
      const read = structuredCalls([call])
      const given = 'calls' in read ? (read.calls[0]?.get('arguments') ?? null) : null
      // A number that is not finite was read as null.
      const isLost = isLossy && holdsNull(call.arguments)
      return { name: call.name, given: isLost ? null : given, result: call.result }
    })
    return { read: 'structured', calls }
  }
  const { text } = finalAnswer(sample)
  if (!text.includes(callStart) && !text.includes(callEnd)) return { read: 'text', calls: [] }
  const found = textCalls(text)
  if (!('calls' in found)) return { read: 'text', calls: [{ name: '', given: null, result: null }] }
  const calls = found.calls.map((call) => ({
    name: String(call.get('name')),
    given: call.get('arguments') ?? null,
    result: null,
  }))
  return { read: 'text', calls }
}

/** The conditions by the name of their part, in this order. */
const conditions = {
  well_formed: (calls) => first(calls, ({ given }) => given === null),
  min_calls: (calls, { min_calls: least }) => ({ holds: calls.length >= least, at: `${calls.length} calls` }),
  max_calls: (calls, { max_calls: most = 0 }) => ({
    holds: calls.length <= most,
    at: `${calls.length} calls`,
  }),
  allowed: (calls, { allowed = [] }) => first(calls, ({ name }) => !allowed.includes(name)),
  arguments: (calls, { arguments: schemas = {} }) => {
    for (const [at, call] of calls.entries()) {
      const own = Object.hasOwn(schemas, call.name) ? schemas[call.name] : undefined
      const fault = own === undefined ? null : faultOf(own, call.given)
      if (fault !== null) return { holds: false, at: `call ${at + 1}: ${fault}` }
    }
    return { holds: true }
  },
  order: (calls, { order = [] }) => {
    let next = 0
    for (const { name } of calls) if (name === order[next]) next += 1
    return { holds: next === order.length, at: `call of step ${next + 1} is missing` }
  },
  max_repeats: (calls, { max_repeats: most = 0 }) => {
    const identities = new JsonIdentities(typed)
    const seen = new Set<string>()
    return within(calls, most, ({ name, given }) => {
      const key = `${identities.of(given)} ${name}`
      const isRepeat = seen.has(key)
      seen.add(key)
      return isRepeat
    })
  },
  max_errors: (calls, { max_errors: most = 0, error_pattern: source }) => {
    const own = source === undefined ? null : linearPattern(source)
    return within(calls, most, ({ result }) =>
      result === null ? false : own ? own.matches(result, false) : isError(result),
    )
  },
} satisfies Record<string, (calls: Calls, options: Options) => Checked>

type Name = keyof typeof conditions

function namesOf(options: Options): readonly Name[] {
  const asked = Object.keys(conditions) as Name[]
  return asked.filter((name) => name === 'well_formed' || options[name] !== undefined)
}

/** Holds unless a call is such a one; names the first. */
function first(calls: Calls, isSuch: (call: Call) => boolean): Checked {
  const at = calls.findIndex(isSuch)
  return at < 0 ? { holds: true } : { holds: false, at: `call ${at + 1}` }
}

/** Holds if at most so many calls are such; names the first one too many. */
function within(calls: Calls, most: number, isSuch: (call: Call) => boolean): Checked {
  let left = most
  return first(calls, (call) => isSuch(call) && --left < 0)
}

/** Why arguments violate their schema. */
function faultOf(own: object | string, given: ExactJson): string | null {
  if (given === null) return 'malformed'
  try {
    return schemaCheck(own)(exactText(given))
  } catch (error) {
    if (error instanceof CheckTooLong)
      throw new RuleTimeout('the schema has too many ways to read the arguments')
    throw error
  }
}

const errorStart = /^\s*(?:error|exception|traceback)\b/i
const errorKeys = ['error', 'isError', 'is_error'] as const

function isError(result: string): boolean {
  if (errorStart.test(result)) return true
  if (!/^\s*\{/.test(result)) return false
  const read = readJson(result, 128)
  if (!(read?.value instanceof Map)) return false
  const { value } = read
  const status: unknown = value.get('status')
  if (typeof status === 'string' && status.toLowerCase() === 'error') return true
  return errorKeys.some((key) => isSet(value.get(key)))
}

/** Null, false, 0 and what is empty say that there is no error. */
const isSet = (value: unknown): boolean =>
  value instanceof Map ? value.size > 0 : Array.isArray(value) ? value.length > 0 : Boolean(value)

const holdsNull = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.values(value).some(holdsNull))
