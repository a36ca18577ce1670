import type { KnownStep } from './expression.ts'
import { reservedNames } from './expression-operators.ts'
import type { StepConfig } from './reward-config.ts'
import type { RewardReport } from './reward-report.ts'
import type { StepFunction } from './step-function.ts'

/** Each step's name told once, and free of names that mean something else in a result or an expression. */
export function checkNames(steps: readonly Partial<StepConfig>[], report: RewardReport): void {
  const names = steps.map(({ name }) => name)
  for (const [index, name] of names.entries()) {
    if (name === undefined) continue
    const at = ['steps', index, 'name']
    if (names.indexOf(name) < index) report.add(at, `there is another step '${name}'; give each its own name`)
    if (reservedNames.has(name))
      report.add(at, `'${name}' means something else in an expression; choose another name`)
    if (resultNames.has(name))
      report.add(at, `'${name}' is a name that trainers use themselves; choose another name`)
    const base = name.replace(/_scored$/, '')
    if (base !== name && names.includes(base))
      report.add(at, `'${name}' is the metric that says whether '${base}' was scored`)
  }
}

/** Columns of verl's batches that a metric of the same name would overwrite. */
const resultNames: ReadonlySet<string> = new Set(['reward', 'uid', 'data_source', 'raw_prompt'])

/** How an expression may name a step. */
export function knownStep(found: StepFunction | null): KnownStep {
  if (found?.description.critique) return { refused: 'gives a text, not a score' }
  return { parts: found?.bound ? found.bound.parts : null }
}
