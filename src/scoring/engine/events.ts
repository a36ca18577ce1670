import {
  bytesOf,
  type Failure,
  type Outcome,
  type Sample,
  type Unreadable,
} from '../../core/sample/sample.ts'
import { eachInSlices } from '../../core/slices.ts'
import type { RequestTimes } from '../../core/stalls/request-times.ts'
import type { Answered, RenderedInput, Sampling } from '../models/interface/ask.ts'
import type { Plan } from '../plan/plan.ts'
import type { TestsOfProgram } from './program-tests.ts'

/** One vote: a judge's answer and the verdict that was read from it, or the failure. */
export interface VoteEvent {
  readonly step: string
  /** The request's own objects: one, the two of a pair, or all of a list. */
  readonly samples: readonly Sample[]
  readonly model: string
  readonly draw: number
  /** SHA-256 of the question's literals, in hex; '' if the question was a plain string. */
  readonly template: string
  /** As rendered by the guard and sent to the server. */
  readonly question: RenderedInput[keyof RenderedInput]
  /** The step's own sampling settings, which override the model's. */
  readonly sampling: Sampling | null
  /** Time until the answer or the failure. */
  readonly ms: number
  readonly answered: Answered | null
  /** Null for a critique, an unreadable answer and a failed question. */
  readonly verdict: number | null
  readonly failure: Failure | null
}

/** A program that is about to run on the cases of a sample. */
export interface ProgramBegan {
  readonly step: string
  /** The request's own object. */
  readonly samples: readonly [Sample]
  /** Asks for the event `tested`; to be called by a listener of `running`. Nothing of it is built otherwise. */
  follow(): void
}

/** What became of a followed program's cases. All its texts are hostile, and hold hidden tests. */
export interface ProgramTested extends TestsOfProgram {
  readonly step: string
  readonly samples: readonly [Sample]
}

/** A request whose rows all have an outcome. */
export interface RequestDone {
  readonly plan: Plan
  /** Null: the client sent none. */
  readonly requestId: string | null
  readonly run: string
  readonly trainingStep: number | null
  readonly rows: readonly (Sample | Unreadable)[]
  /** One per row. */
  readonly outcomes: readonly Outcome[]
  /** Milliseconds from the start of the request to each row's outcome. */
  readonly ms: Float64Array
  /** Where the time of each row went. */
  readonly times: RequestTimes
}

/** A request whose rows begin to be scored; `done` follows with the same `times`. */
export interface RequestBegan extends Pick<RequestDone, 'run' | 'trainingStep' | 'times'> {}

/** What all votes on a question together say of each criterion that it asks about. */
export interface CriteriaJudged {
  readonly reward: string
  readonly step: string
  /** One for each row and criterion. */
  readonly verdicts: readonly CriterionVerdict[]
}

export interface CriterionVerdict {
  /** As the function names it; foreign text. */
  readonly criterion: string
  /** Whether it is one of the parts that the function declares: those are few, however many rows there are. */
  readonly isDeclared: boolean
  /** null: the judge failed, or its answer cannot be read. */
  readonly score: number | null
}

/** Events of the engine. Listeners must be cheap; they are called through a ListenerGuard. */
export interface EngineEvents {
  voted?(event: VoteEvent): void
  running?(event: ProgramBegan): void
  tested?(event: ProgramTested): void
  began?(event: RequestBegan): void
  done?(event: RequestDone): void
  /** A decision is asked again, of the step's second judge. */
  escalated?(event: { readonly reward: string; readonly step: string }): void
  /** Called once for each question whose function names its criteria, unless the request was cancelled meanwhile. */
  criteriaJudged?(event: CriteriaJudged): void
  /** Called once per question or refused answer, with the parts of the guard that applied. */
  guarded?(event: { readonly reward: string; readonly step: string; readonly parts: readonly string[] }): void
}

/** Every event of the engine. */
export const engineEventNames = Object.keys({
  voted: true,
  running: true,
  tested: true,
  began: true,
  done: true,
  escalated: true,
  criteriaJudged: true,
  guarded: true,
} satisfies Record<keyof EngineEvents, true>) as readonly (keyof EngineEvents)[]

/**
 * Calls `then` with the approximate memory, in bytes, of all fields of a request's rows and outcomes: immediately, or in a later
 * turn of the event loop if there are many.
 */
export function countBytes(
  { rows, outcomes, times }: RequestDone,
  then: (bytes: number) => void,
): Promise<void> | null {
  let bytes = times.bytes
  const count = (index: number): void => {
    bytes += bytesOf(rows[index]) + bytesOf(outcomes[index])
  }
  return eachInSlices(rows.length, count, () => then(bytes))
}
