/**
 * Samples in, outcomes out. Each sample walks through its plan's steps on its own: there is no barrier between samples,
 * only a group step waits, and only for its own group. Whatever happens, every sample gets exactly one outcome: a finite
 * reward, or the failure that left it without one.
 */
import type { Clock } from '../clock.ts'
import type { FunctionHost } from '../functions/function-host.ts'
import type { Models } from '../models/models.ts'
import type { Outcome } from '../sample/outcome.ts'
import type { Sample, Unreadable } from '../sample/sample.ts'
import { openAdmission, refuseLate } from './admission.ts'
import { openCohorts } from './cohorts.ts'
import type { Cohorts, StepContext } from './context.ts'
import { RequestExpiry } from './deadline.ts'
import type { EngineEvents } from './events.ts'
import { gatherGroups } from './group.ts'
import { groupTerms } from './group-step.ts'
import { substitutes } from './invalid.ts'
import type { Job } from './job.ts'
import { unscored } from './outcome.ts'
import { Walk } from './walk.ts'

/** Scores jobs; one for each reading of the configs. */
export interface Engine {
  /** One outcome a row, in the order of the rows. Throws RG_OVERLOADED at once, before any work; never rejects later. */
  score(job: Job): Promise<readonly Outcome[]>
  /** Rows in work. */
  readonly inFlight: number
  /** Resolves once no row is in work. */
  idle(): Promise<void>
}

/** What an engine works with; it closes none of it. */
export interface EngineParts {
  readonly functions: FunctionHost
  readonly models: Models
  readonly clock: Clock
  /** Key of the fences' nonces. */
  readonly secret: string
  readonly events?: EngineEvents
  /** Rows in work at the same time; more are refused. */
  readonly maxRows: number
}

/** An engine holds nothing that must be closed: wait for `idle`, then close its parts. */
export function openEngine(parts: EngineParts): Engine {
  const admission = openAdmission(parts.maxRows)
  const shared = { ...parts, cohorts: openCohorts(parts.clock, groupTerms) }
  return {
    get inFlight() {
      return admission.inFlight
    },
    idle: () => admission.idle(),
    score(job) {
      if (job.isRefusable) refuseLate(parts.models, job, job.deadline - parts.clock.now())
      const release = admission.enter(job.rows.length)
      return scoreRows(shared, job).finally(release)
    },
  }
}

function scoreRows(
  parts: EngineParts & { readonly cohorts: Cohorts },
  job: Job,
): Promise<readonly Outcome[]> {
  const { plan, rows } = job
  if (rows.length === 0) return Promise.resolve([])
  return new Promise((resolve) => {
    const walks: Walk[] = []
    const end = new RequestExpiry(parts.clock, job.deadline, job.signal, (failure) => {
      for (const walk of walks) walk.end(failure)
    })
    const groups = gatherGroups(rows)
    const { functions, models, clock, secret, events, cohorts } = parts
    const context: StepContext = { functions, models, clock, secret, events, cohorts, job, end, groups }
    const substituted = substitutes(plan, groups)
    const outcomes = new Array<Outcome>(rows.length)
    const began = parts.clock.now()
    const ms = new Float64Array(rows.length)
    let left = rows.length
    const finish = (index: number, outcome: Outcome) => {
      outcomes[index] = outcome
      ms[index] = parts.clock.now() - began
      job.onOutcome?.(index, outcome)
    }
    const take = (index: number, outcome: Outcome) => {
      outcomes[index] = outcome
      const final = substituted.now(rows[index] as Sample | Unreadable, outcome)
      if (final) finish(index, final)
      if (--left > 0) return
      for (const [at, one] of outcomes.entries()) {
        const late = substituted.later(rows[at], one)
        if (late) finish(at, late)
      }
      end.dispose()
      resolve(outcomes)
      const { run = '', trainingStep = null, requestId = null } = job
      parts.events?.done?.({ plan, requestId, run, trainingStep, rows, outcomes, ms })
    }
    for (let index = 0; index < rows.length; index++) {
      const row = rows[index] as Sample | Unreadable
      if (isSample(row)) walks.push(new Walk(context, row, index, take))
      else take(index, unscored(plan, row.id, row.failure))
    }
    for (const walk of walks) walk.go()
  })
}

const isSample = (row: Sample | Unreadable): row is Sample => !('failure' in row)
