import { memoizeByObject } from '../../core/memoize.ts'
import {
  type Failure,
  isTextOnly,
  type OffReason,
  type Outcome,
  type RolloutStatus,
  type Sample,
  type Term,
} from '../../core/sample/sample.ts'
import type { Expression } from '../plan/expression.ts'
import type { Plan, PlanStep } from '../plan/plan.ts'
import type { StepContext } from './context.ts'
import { joinGroup } from './groups/group-step.ts'
import { callRoom, drawRoom, type Gate } from './job.ts'
import { judgeTerm } from './judge/ask.ts'
import { questionsTerm } from './judge/questions-step.ts'
import { drawsOf } from './judge/votes.ts'
import { lookupIn, outcomeOf, refusedOutcome } from './outcome.ts'
import { programTerm } from './program.ts'
import {
  failedTerm,
  isOverGroup,
  rowOf,
  ruleTerm,
  skippedTerm,
  type Terms,
  termNamed,
  unforeseen,
} from './step.ts'
import { ignoredFlags, unseenContent } from './unseen-content.ts'

/** Runs one sample through its plan's steps. Each step begins as soon as the steps that it needs are finished. */
export class SampleRun {
  readonly #context: StepContext
  readonly #sample: Sample
  readonly #index: number
  readonly #done: (index: number, outcome: Outcome) => void
  readonly #terms: (Term | undefined)[] = []
  readonly #begun: boolean[] = []
  /** Why the rollout earns nothing, whatever its steps say. */
  readonly #refused: Failure | null
  #left: number
  #isOver = false

  /** `done` is always called exactly once, with the sample's `index` in its request. */
  constructor(
    context: StepContext,
    sample: Sample,
    index: number,
    done: (index: number, outcome: Outcome) => void,
  ) {
    this.#context = context
    this.#sample = sample
    this.#index = index
    this.#done = done
    this.#refused = refusedStatus(context.job.plan, sample)
    this.#left = context.job.plan.steps.length
  }

  /** Begins every step whose needs are met. */
  go(): void {
    const { steps } = this.#context.job.plan
    for (let at = 0; at < steps.length; at++) {
      const step = steps[at] as PlanStep
      if (this.#begun[at] || !this.#isReady(step)) continue
      this.#begun[at] = true
      this.#begin(step, at)
    }
  }

  #isReady({ needs }: PlanStep): boolean {
    return needs.length === 0 || needs.every((name) => termNamed(this.#terms, name))
  }

  #begin(step: PlanStep, at: number): void {
    const why = offReason(this.#context, step, this.#sample, this.#terms)
    const failure =
      this.#refused ?? (why || isTextOnly(this.#sample) ? null : unseenContent(step, this.#sample))
    const gate = this.#context.gates.of(step.models)
    const room = roomOf(step)
    if (isOverGroup(step)) this.#beginOverGroup(step, at, why, failure)
    else if (failure) this.#finishSoon(at, failedTerm(this.#context, step, failure))
    else if (why) this.#finishSoon(at, skippedTerm(this.#context, step, why))
    else if (step.kind === 'questions') this.#beginQuestions(step, at)
    else if (gate.enters(room)) this.#beginWithin(step, at, gate, room)
    else this.#beginLater(step, at, gate, room)
  }

  /** Waits for its room. Questions wait because many of the request are at their model already. */
  #beginLater(step: PlanStep, at: number, gate: Gate, room: number): void {
    const { times, clock } = this.#context
    const [model] = step.models
    const wait = times.wait(this.#index, model === undefined ? 'rule' : 'line', model ?? '', clock.now())
    gate.wait(room, () => {
      wait.to = clock.now()
      this.#beginWithin(step, at, gate, room)
    })
  }

  /**
   * A step that waits for siblings takes no room, and the siblings wait for one that is off (`why`) or cannot be scored
   * (`failure`), too.
   */
  #beginOverGroup(step: PlanStep, at: number, why: OffReason | null, failure: Failure | null): void {
    const isOff = why !== null || failure !== null
    const traced = isOff ? null : traceStep(this.#context, step, this.#sample)
    const context = traced?.context ?? this.#context
    const row = isOff
      ? null
      : rowOf(step, this.#sample, this.#terms, this.#index, this.#context.job.trainingStep)
    joinGroup(context, step, { sample: this.#sample, row, place: this.#index }, (term) =>
      this.#finish(
        at,
        failure ? failedTerm(context, step, failure) : (term ?? skippedTerm(context, step, why ?? 'skipped')),
        traced,
      ),
    )
  }

  /** Its questions take their room when their number is known. */
  #beginQuestions(step: PlanStep, at: number): void {
    const traced = traceStep(this.#context, step, this.#sample)
    const context = traced?.context ?? this.#context
    const finish = (term: Term): void => this.#finish(at, term, traced)
    const row = rowOf(step, this.#sample, this.#terms, this.#index, this.#context.job.trainingStep)
    questionsTerm(context, step, row).then(finish, (error: unknown) =>
      finish(failedTerm(context, step, unforeseen(error))),
    )
  }

  /** A step that does not run takes no room. */
  #finishSoon(at: number, term: Term): void {
    queueMicrotask(() => this.#finish(at, term, null))
  }

  /** The room in the gate is already taken; releases it at the end. */
  #beginWithin(step: PlanStep, at: number, gate: Gate, room: number): void {
    if (this.#isOver || this.#context.end.isOver) {
      gate.leave(room)
      return
    }
    const traced = traceStep(this.#context, step, this.#sample)
    const context = traced?.context ?? this.#context
    const row = rowOf(step, this.#sample, this.#terms, this.#index, this.#context.job.trainingStep)
    if (step.kind === 'rule') {
      const call = { op: 'score', function: step.function, rows: [row], request: this.#context.end } as const
      const { times, clock } = context
      // A small function has answered before `run` returns, in no time worth noting.
      let noted: number | undefined
      let isDone = false
      context.functions.run(call, (result) => {
        isDone = true
        if (noted !== undefined) times.ruleEnded(noted, clock.now())
        gate.leave(room)
        this.#finish(at, ruleTerm(context, step, result), traced)
      })
      if (!isDone) noted = times.ruleBegan(this.#index, clock.now())
      return
    }
    const finish = (term: Term): void => {
      gate.leave(room)
      this.#finish(at, term, traced)
    }
    const term = step.kind === 'program' ? programTerm(context, step, row) : judgeTerm(context, step, row)
    term.then(finish, (error: unknown) => finish(failedTerm(context, step, unforeseen(error))))
  }

  /** Deadline or disconnect: keeps finished terms and fails the others with `failureOf` their step. */
  end(failureOf: (step: PlanStep) => Failure): void {
    if (this.#isOver) return
    this.#conclude((step) => failedTerm(this.#context, step, failureOf(step)))
  }

  #finish(at: number, term: Term, traced: TracedStep | null): void {
    traced?.end(term)
    if (this.#isOver || this.#context.end.isOver) return
    this.#terms[at] = this.#flagged(term, at)
    if (--this.#left > 0) {
      if (this.#context.job.onRules) this.#tellRules(at)
      this.go()
    } else this.#conclude((step) => failedTerm(this.#context, step, unforeseen(null)))
  }

  /** Called when the step `at` is done. */
  #tellRules(at: number): void {
    const { job } = this.#context
    const early = earlyRules(job.plan.steps)
    if (this.#refused || !early.includes(at)) return
    const terms = early.flatMap((rule) => this.#terms[rule] ?? [])
    if (terms.length === early.length) job.onRules?.(this.#index, terms)
  }

  /** Adds what the step ignored. */
  #flagged(term: Term, at: number): Term {
    const step = this.#context.job.plan.steps[at] as PlanStep
    if (term.status !== 'scored' || step.ignore.size === 0) return term
    const flags = ignoredFlags(step, this.#sample)
    if (flags.length === 0) return term
    return { ...term, score: { ...term.score, flags: [...(term.score.flags ?? []), ...flags] } }
  }

  #conclude(missing: (step: PlanStep) => Term): void {
    this.#isOver = true
    const { job } = this.#context
    const { steps } = job.plan
    for (let at = 0; at < steps.length; at++) this.#terms[at] ??= missing(steps[at] as PlanStep)
    const outcome = this.#refused
      ? refusedOutcome(job, this.#sample, this.#refused)
      : outcomeOf(job, this.#sample, this.#terms as Term[])
    this.#done(this.#index, outcome)
  }
}

/** The places of the rules that need no other step than such rules. */
const earlyRules = memoizeByObject((steps: Plan['steps']): readonly number[] => {
  const names = new Set<string>()
  let count = -1
  while (names.size > count) {
    count = names.size
    for (const { kind, needs, name } of steps)
      if (kind === 'rule' && needs.every((need) => names.has(need))) names.add(name)
  }
  return steps.flatMap(({ name }, at) => (names.has(name) ? [at] : []))
})

/** Room that a step of one sample takes in the request's gate. */
const roomOf = (step: PlanStep): number =>
  step.kind === 'rule' ? callRoom : step.kind === 'program' ? drawRoom : drawsOf(step).length * drawRoom

/** Why a sample is invalid because of how its rollout ended; null if it may be scored. */
function refusedStatus({ onStatus }: Plan, { status }: Sample): Failure | null {
  if (status === undefined || status === 'completed' || onStatus[status] === 'score') return null
  return { kind: status, retryable: false, detail: statusDetails[status] }
}

const statusDetails: Readonly<Record<Exclude<RolloutStatus, 'completed'>, string>> = {
  aborted: 'the rollout was aborted; on_status of the reward decides whether it is scored',
  env_error: 'the environment of the rollout failed; on_status of the reward decides whether it is scored',
  tool_limit: 'the rollout ran into its limit of turns; on_status of the reward says that it is invalid',
  truncated: 'the rollout was cut off; on_status of the reward says that it is invalid',
}

/** Why a step does not run for this sample; null if it runs. */
function offReason({ job }: StepContext, step: PlanStep, sample: Sample, terms: Terms): OffReason | null {
  if (step.dataSource && !step.dataSource.matches(sample.dataSource)) return 'data_source'
  if (step.gated && job.plan.gate && !holds(job.plan.gate, job.plan, terms)) return 'gate'
  if (step.when && !holds(step.when, job.plan, terms)) return 'when'
  return null
}

/** A condition that needs a missing score does not hold. */
function holds(condition: Expression<boolean>, plan: Plan, terms: Terms): boolean {
  const result = condition.evaluate(lookupIn(terms, plan.arithmetic))
  return 'value' in result && result.value
}

/** A step of one sample with its own trace span. */
interface TracedStep {
  /** Calls made with this context are traced as children of the step's span. */
  readonly context: StepContext
  end(term: Term): void
}

/** Null if the request is not traced. */
function traceStep(context: StepContext, step: PlanStep, sample: Sample): TracedStep | null {
  const { job } = context
  const span = job.trace?.begin(step.name, 'internal', {
    'reward_gateway.reward': job.plan.name,
    'reward_gateway.step': step.name,
    'reward_gateway.function': step.function.name,
    'reward_gateway.sample': sample.id,
  })
  if (!span) return null
  return {
    context: { ...context, job: { ...job, trace: span.trace } },
    end(term) {
      const fault = term.status === 'failed' ? term.failure.kind : null
      span.end(fault, { 'reward_gateway.status': term.status })
    },
  }
}
