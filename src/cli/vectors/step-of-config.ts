import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from '../../contract/index.ts'
import { configTexts } from '../../plan/config-files.ts'
import { readConfigs } from '../../plan/configs.ts'
import { sourcePattern } from '../../plan/source-pattern.ts'

/** A step's function, with its options as written. */
export interface SteppedFunction {
  readonly function: string
  readonly options: Readonly<Record<string, Json>>
}

/** The one step of a shipped config whose data_source fits; throws where none or several do, as a row of it would fail. */
export function stepOfConfig(file: string, dataSource: string): SteppedFunction {
  const [written] = readConfigs(configTexts([shipped(file)]), {}).rewards
  const steps = (written?.steps ?? []).filter(({ data_source: patterns = [] }) =>
    sourcePattern([patterns].flat()).matches(dataSource),
  )
  const [step] = steps
  if (!step?.function || steps.length > 1) throw new RangeError(`${steps.length} steps fit ${dataSource}`)
  return { function: step.function, options: step.options as Readonly<Record<string, Json>> }
}

/** Above the sources, and one further above what was built of them. */
function shipped(file: string): string {
  const folders = ['../../..', '../../../..'].map((above) => join(import.meta.dirname, above, 'rm-configs'))
  return join(folders.find(existsSync) ?? '', file)
}
