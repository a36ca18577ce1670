import { join } from 'node:path'
import { shippedConfigs } from '../../src/cli/gateway.ts'
import type { Json } from '../../src/contract/index.ts'
import { configTexts, readConfigs } from '../../src/scoring/plan/configs.ts'
import { sourcePattern } from '../../src/scoring/plan/resolve-step.ts'

/** A step's function, with its options as written. */
interface SteppedFunction {
  readonly function: string
  readonly options: Readonly<Record<string, Json>>
}

/** The one step of a shipped config whose data_source fits; throws where none or several do, as a row of it would fail. */
export function stepOfConfig(file: string, dataSource: string): SteppedFunction {
  const [written] = readConfigs(configTexts([join(shippedConfigs(), file)]), {}).rewards
  const steps = (written?.steps ?? []).filter(({ data_source: patterns = [] }) =>
    sourcePattern([patterns].flat()).matches(dataSource),
  )
  const [step] = steps
  if (!step?.function || steps.length > 1) throw new RangeError(`${steps.length} steps fit ${dataSource}`)
  return { function: step.function, options: step.options as Readonly<Record<string, Json>> }
}
