import { z } from 'zod'
import { GatewayError } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { Json } from '../../core/sample/sample.ts'
import type { BoundFunction, FunctionDescription, FunctionHost } from '../functions/function-host.ts'
import { type ConfigPath, replacedAt } from './config-text.ts'
import type { RewardReport } from './configs.ts'
import { newOptionValue, newValueOf } from './renamed-settings.ts'
import type { StepConfig } from './reward-config.ts'

/** A step's function with the step's options. */
export interface StepFunction {
  readonly description: FunctionDescription
  /** null: the options have mistakes. */
  readonly bound: BoundFunction | null
}

/** Finds a step's function and binds its options; null if there is none. Reports each mistake at its place. */
export async function findFunction(
  { function: name, options = {} }: Partial<StepConfig>,
  at: ConfigPath,
  functions: FunctionHost,
  report: RewardReport,
): Promise<StepFunction | null> {
  if (name === undefined) return null
  const description = await functions.describe(name).catch((error: unknown) => {
    if (!(error instanceof GatewayError)) throw error
    const reasons = error.problems.map(({ path, message }) => `: ${path} ${message}`).join('')
    report.add([...at, 'function'], `${error.message}${reasons}`)
    return null
  })
  if (!description) return null
  try {
    return { description, bound: await bound(name, options, at, functions, report) }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const unknown = unknownOptions(description.optionsSchema, options)
    for (const { key, hint } of unknown) {
      report.add([...at, 'options', key], `'${name}' has no option '${key}'${hint}`, 'key')
    }
    for (const { path, message } of error.problems) {
      if (unknown.length > 0 && message.startsWith('Unrecognized key')) continue
      const place = [...at, 'options', ...pathParts(path)]
      report.add(place, `${name}: ${renamedOption(description, options, place, report) ?? message}`)
    }
    if (error.problems.length === 0) report.add([...at, 'function'], error.message)
    return { description, bound: null }
  }
}

/** Binds the options. If the function refuses a value from a variable, tries its other reading: "8" may mean 8. */
async function bound(
  name: string,
  options: Readonly<Record<string, unknown>>,
  at: ConfigPath,
  functions: FunctionHost,
  report: RewardReport,
): Promise<BoundFunction> {
  try {
    return await functions.bind(name, options as Json)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const paths = error.problems.map(({ path }) => pathParts(path))
    const reread = paths.reduce<unknown>((value, path) => {
      const other = report.otherReading([...at, 'options', ...path])
      return other ? replacedAt(value, path, other.value) : value
    }, options)
    if (reread === options) throw error
    return functions.bind(name, reread as Json).catch(() => {
      throw error
    })
  }
}

/** Options that are not in the function's JSON Schema, each with the nearest known name. */
function unknownOptions(schema: Json, options: Readonly<Record<string, unknown>>) {
  const known = schema && typeof schema === 'object' && 'properties' in schema ? schema.properties : null
  if (!known || typeof known !== 'object') return []
  return Object.keys(options)
    .filter((key) => !Object.hasOwn(known, key))
    .map((key) => ({ key, hint: didYouMean(key, Object.keys(known)) }))
}

/** A message with the new name of an option's value, if the function accepts only that; else null. */
function renamedOption(
  { optionsSchema }: FunctionDescription,
  options: Readonly<Record<string, unknown>>,
  place: ConfigPath,
  report: RewardReport,
): string | null {
  const [key = '', ...deeper] = place.slice(place.lastIndexOf('options') + 1)
  const value = deeper.length === 0 ? options[key] : undefined
  const by = newOptionValue(String(key), value)
  return by !== null && takesOption(optionsSchema, String(key), by)
    ? newValueOf(place, value, report.fixable)
    : null
}

/** Whether a function's JSON Schema lists this value among those of an option. */
export function takesOption(optionsSchema: Json, key: string, value: string): boolean {
  const read = z.object({
    properties: z.record(
      z.string(),
      z
        .object({ enum: z.array(z.unknown()) })
        .optional()
        .catch(undefined),
    ),
  })
  const { data } = read.safeParse(optionsSchema)
  return data?.properties[key]?.enum.includes(value) ?? false
}

/** The parts of `a[0].b`. */
const pathParts = (path: string): ConfigPath =>
  [...path.matchAll(/\[(\d+)\]|\["([^"]*)"\]|([^.[\]]+)/g)].map(([, index, quoted, plain]) =>
    index === undefined ? (quoted ?? plain ?? '') : Number(index),
  )
