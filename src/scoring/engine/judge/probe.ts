import type { Failure, Sample } from '../../../core/sample/sample.ts'
import type { Plan, PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import type { EngineParts } from '../engine.ts'
import { Gates } from '../gate.ts'
import { openCohorts } from '../groups/cohorts.ts'
import { gatherGroups } from '../groups/group.ts'
import { rowOf } from '../step.ts'
import { inquiryOf } from './judge-query.ts'
import type { VoteResult } from './vote.ts'

/** What one instance said of a known sample; `no_call`: the function asks nothing about it. */
export type Probed =
  | { readonly status: 'verdict'; readonly value: number }
  | { readonly status: 'unreadable' }
  | { readonly status: 'no_call' }
  | { readonly status: 'failed'; readonly failure: Failure }

/** Where a probe goes, and how long it may take, on the engine's clock. */
export interface ProbeAim {
  readonly plan: Plan
  readonly step: PlanStep
  readonly model: string
  readonly instance: string
  readonly deadline: number
  readonly signal: AbortSignal
}

/** Asks one instance about a sample as the step would, beside all requests and unseen by listeners. Never rejects. */
export async function probe(
  parts: Omit<EngineParts, 'maxRows' | 'events'>,
  sample: Sample,
  aim: ProbeAim,
): Promise<Probed> {
  const { plan, step, model, instance, deadline, signal } = aim
  const { functions, models, clock, secret } = parts
  const context: StepContext = {
    functions,
    models,
    clock,
    secret,
    job: { plan, rows: [sample], deadline, signal },
    end: { signal, isOver: false, dispose() {} },
    gates: new Gates(),
    groups: gatherGroups([sample]),
    cohorts: openCohorts(clock, async () => []),
    hold: () => () => {},
  }
  const row = rowOf(step, sample, [])
  const asked = await functions.call({ op: 'preprocess', function: step.function, rows: [row] })
  if (asked.status === 'failed') return asked
  if (asked.status === 'verdicts') return { status: 'no_call' }
  return readingOf(await inquiryOf(context, step, [row], asked.question).draw({ model, draw: 0, instance }))
}

function readingOf(drawn: VoteResult): Probed {
  if (drawn.status === 'failed') return { status: 'failed', failure: drawn.failure }
  const [verdict = null] = drawn.status === 'read' ? drawn.verdicts : []
  return verdict ? { status: 'verdict', value: verdict.value } : { status: 'unreadable' }
}
