import { GatewayError } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { Failure, Sample, Score } from '../../core/sample/sample.ts'
import { withoutThoughts } from '../engine/guard/thoughts.ts'
import type { FunctionHost } from '../functions/function-host.ts'
import { fullGuard } from '../models/api/guard-config.ts'
import type { Plan } from '../plan/plan.ts'

/** What a step reads in a judge's text; all null: it found no verdict. */
export interface ReadReply {
  readonly score: Score | null
  readonly failure: Failure | null
}

/** Reads a text as the step's first model's answer, guard and range checks included. Asks nobody. */
export async function readReply(
  functions: FunctionHost,
  plan: Plan,
  name: string,
  sample: Sample,
  text: string,
): Promise<ReadReply> {
  const step = plan.steps.find((one) => one.name === name)
  if (step?.kind !== 'model' || step.ask !== 'generate' || step.critique) {
    const near = step
      ? ''
      : didYouMean(
          name,
          plan.steps.map((one) => one.name),
        )
    throw new GatewayError(
      'RG_REQUEST_INVALID',
      `${plan.name} has no step '${name}' that reads a verdict${near}`,
    )
  }
  const [model = ''] = step.models
  const whole = { text, finishReason: 'stop' }
  const said = (step.guards.get(model) ?? fullGuard).thoughts ? withoutThoughts(whole) : whole
  if (said === null) return { score: null, failure: null }
  const rows = [{ sample, earlier: {} }]
  const read = await functions.call({ op: 'postprocess', function: step.function, rows, answer: said })
  if (read.status === 'failed') return { score: null, failure: read.failure }
  return { score: (read.status === 'verdicts' ? read.verdicts[0] : null) ?? null, failure: null }
}
