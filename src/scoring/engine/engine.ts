/**
 * Samples in, outcomes out. Each sample runs through its plan's steps independently. There is no barrier between samples; only a
 * group step waits, and only for its own group. Every sample gets exactly one outcome: a finite reward, or the failure that left
 * it without one.
 */
import type { Clock } from '../../core/clock.ts'
import { releaseImages } from '../../core/sample/image.ts'
import {
  type Failure,
  isTextOnly,
  type Outcome,
  type Sample,
  type Unreadable,
} from '../../core/sample/sample.ts'
import { eachInSlices, inSlices } from '../../core/slices.ts'
import { RequestTimes } from '../../core/stalls/request-times.ts'
import type { FunctionHost } from '../functions/function-host.ts'
import { parkedDetail } from '../models/model.ts'
import type { Models } from '../models/models.ts'
import type { Plan, PlanStep } from '../plan/plan.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import { asksParked, Demand, heapOfRows, openAdmission, rejectIfQueueTooLong } from './admission.ts'
import type { StepContext } from './context.ts'
import type { EngineEvents } from './events.ts'
import { CrossRequestGroups } from './groups/cross-request-groups.ts'
import { groupTerms } from './groups/group-step.ts'
import { RequestGroups } from './groups/request-groups.ts'
import { type EngineJob, Gates, RequestExpiry } from './job.ts'
import { substitutes, unscored } from './outcome.ts'
import { SampleRun } from './sample-run.ts'
import { isOverGroup } from './step.ts'

/** Scores jobs. Each reading of the configs has its own engine. */
export interface Engine {
  /**
   * Returns one outcome per row, in row order. Throws RG_OVERLOADED or RG_REQUEST_TOO_LARGE immediately, before any work; never
   * rejects later.
   */
  score(job: EngineJob): Promise<readonly Outcome[]>
  /** Rows in progress. */
  readonly inFlight: number
  /** Resolves once no row is in progress. */
  idle(): Promise<void>
  /** Groups whose answers arrive in separate requests. */
  readonly crossRequestGroups: CrossRequestGroups
  /** Questions that a row of a plan asks on average, of all models together. */
  questionsPerRow(plan: Plan): number
}

/** What an engine uses; it closes none of it. */
export interface EngineParts {
  readonly functions: FunctionHost
  readonly models: Models
  readonly sandboxes: Sandboxes
  readonly clock: Clock
  /** Secret key from which the nonces of fences are derived. */
  readonly secret: string
  readonly events?: EngineEvents
  /** Rows that may be in progress at once; more are refused. */
  readonly maxRows: number
  /** Heap in bytes that the rows of all refusable jobs may take together; absent: no limit. */
  readonly maxHeapBytes?: number
}

/**
 * An engine holds nothing to close: wait for `idle`, then close its parts. `before` is the engine of the previous reading of the
 * configs; groups whose first answers went to that engine continue in this one.
 */
export function openEngine(parts: EngineParts, before?: Pick<Engine, 'crossRequestGroups'>): Engine {
  const admission = openAdmission(parts.maxRows, parts.maxHeapBytes)
  const demand = new Demand()
  const crossRequestGroups = before?.crossRequestGroups ?? new CrossRequestGroups(parts.clock, groupTerms)
  const shared = { ...parts, demand, crossRequestGroups, hold: () => admission.hold() }
  return {
    crossRequestGroups,
    get inFlight() {
      return admission.inFlight
    },
    idle: () => admission.idle(),
    questionsPerRow: ({ steps }) => demand.perRowOfAll(steps),
    score(job) {
      if (job.isRefusable) rejectIfQueueTooLong(parts.models, demand, job, job.deadline - parts.clock.now())
      const { length } = job.rows
      const heapBytes = job.isRefusable ? heapOfRows(job.plan, length, job.bodyBytes ?? 0) : 0
      const isParked = job.isRefusable === true && asksParked(parts.models, job.plan)
      const release = admission.enter(length, heapBytes, isParked)
      return scoreRows(shared, job).then(
        (outcomes) => {
          release()
          return outcomes
        },
        (error) => {
          release()
          throw error
        },
      )
    },
  }
}

function scoreRows(
  parts: EngineParts & {
    readonly crossRequestGroups: CrossRequestGroups
    readonly demand: Demand
    hold(): () => void
  },
  job: EngineJob,
): Promise<readonly Outcome[]> {
  const { plan, rows } = job
  if (rows.length === 0) return Promise.resolve([])
  return new Promise((resolve, reject) => {
    const sampleRuns = new Array<SampleRun | undefined>(rows.length)
    let failure: Failure | null = null
    let found: RequestGroups | undefined
    const groups = (): RequestGroups => {
      found ??= new RequestGroups(rows, parts.clock, groupTerms)
      return found
    }
    const substituted = substitutes(plan, groups)
    const outcomes = new Array<Outcome>(rows.length)
    const began = parts.clock.now()
    const ms = new Float64Array(rows.length)
    const times = new RequestTimes(rows.length, began, job.arrived, job.earlier)
    let left = rows.length
    const finish = (index: number, outcome: Outcome) => {
      outcomes[index] = outcome
      ms[index] = parts.clock.now() - began
      job.onOutcome?.(index, outcome)
    }
    const finishLate = (index: number) => {
      const late = substituted.later(rows[index], outcomes[index] as Outcome)
      if (late) finish(index, late)
    }
    const close = () => {
      end.dispose()
      resolve(outcomes)
      parts.events?.done?.({ plan, requestId, run, trainingStep, rows, outcomes, ms, times })
      for (const row of rows) if (hasMessages(row)) releaseImages(row)
    }
    const conclude = () => void eachInSlices(rows.length, finishLate, close)?.catch(reject)
    const { run = '', trainingStep = null, requestId = null } = job
    parts.events?.began?.({ run, trainingStep, times })
    job.onBegan?.(times)
    const rowDone = parts.demand.admit(plan.steps, rows.length)
    const holds = Number.isFinite(plan.group.waitMs)
    const take = (index: number, outcome: Outcome) => {
      outcomes[index] = outcome
      rowDone?.(outcome)
      if (holds) crossRequestGroups.sampleDone(rows[index] as Sample, outcome.valid)
      const final = substituted.now(rows[index] as Sample | Unreadable, outcome)
      if (final) finish(index, final)
      if (--left > 0) return
      const ready = substituted.ready()
      if (ready === null) conclude()
      else ready.then(conclude, reject)
    }
    const endOne = (index: number, whyOf: (step: PlanStep) => Failure) => {
      const row = rows[index] as Sample | Unreadable
      const sampleRun = sampleRuns[index]
      if (sampleRun) sampleRun.end(whyOf)
      else if (isSample(row)) new SampleRun(context, row, index, take).end(whyOf)
      else if (!outcomes[index]) take(index, unscored(plan, row.id, row.failure))
    }
    const end = new RequestExpiry(parts.clock, job, (why) => {
      failure = why
      const whyOf = why.kind === 'deadline' ? endOfSteps(parts, began, why) : () => why
      eachInSlices(rows.length, (index) => endOne(index, whyOf))?.catch(reject)
    })
    const { functions, models, sandboxes, clock, secret, events, crossRequestGroups, hold } = parts
    const gates = new Gates()
    // Written out, as the job is in gateway.ts: with two spreads instead, a rule sent alone costs 40 % more (`npm run against`).
    const context: StepContext = {
      functions,
      models,
      sandboxes,
      clock,
      secret,
      events,
      crossRequestGroups,
      hold,
      job,
      end,
      gates,
      times,
      owner: undefined,
      groups,
    }
    let next = 0
    const beginOne = (): boolean => {
      // The request's expiry also ends rows that have not begun.
      if (failure) return false
      const index = next++
      const row = rows[index] as Sample | Unreadable
      if (isSample(row)) {
        const sampleRun = new SampleRun(context, row, index, take)
        sampleRuns[index] = sampleRun
        sampleRun.go()
      } else take(index, unscored(plan, row.id, row.failure))
      return next < rows.length
    }
    const begin = () => void inSlices(beginOne)?.catch(reject)
    const finding = plan.steps.some(isOverGroup) ? groups().find() : null
    if (finding === null) begin()
    else finding.then(begin, reject)
  })
}

/** What each unfinished step fails with when the request's time is over. A step that waited for an unreachable model says so. */
function endOfSteps(
  { models, clock }: Pick<EngineParts, 'models' | 'clock'>,
  began: number,
  deadline: Failure,
): (step: PlanStep) => Failure {
  const known = new Map<PlanStep, Failure>()
  const failureOf = (step: PlanStep): Failure => {
    const now = clock.now()
    for (const model of step.models) {
      const { parkedSince } = models.queue(model)
      if (parkedSince === null) continue
      const detail = parkedDetail(model, now - Math.max(began, parkedSince))
      return { kind: 'judge_unreachable', retryable: true, detail }
    }
    return deadline
  }
  return (step) => {
    const failure = known.get(step) ?? failureOf(step)
    known.set(step, failure)
    return failure
  }
}

/** What listeners still show of the rows has handles of images, not their bytes. */
const hasMessages = (row: Sample | Unreadable): row is Sample => isSample(row) && !isTextOnly(row)

const isSample = (row: Sample | Unreadable): row is Sample => !('failure' in row)
