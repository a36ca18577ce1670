/**
 * Groups whose members arrive in separate requests, served by one version of the configs or by several with the same settings. A
 * group has rounds: a new answer under an index that already has one begins the next round, usually the next epoch over the same
 * prompt. The same answer again is a retry or belongs to the next epoch, because a trainer that still waits for a reward, or has
 * it, does not send the answer again.
 */
import { hash } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import type { Sample, Term } from '../../../core/sample/sample.ts'
import type { GroupTimes } from '../../../core/stalls/request-times.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { CancelToken, whenAborted } from '../../models/interface/cancel-token.ts'
import { type GroupWaiting, incomplete, type Joining, type Quorum } from '../context.ts'
import { answerKey } from './distinct-answers.ts'
import { Gathering, type GroupRun } from './waiting.ts'

/** Finished rounds whose terms are kept for retries, each for the time limit of its group. */
const mostKept = 1024

/** The groups that several requests share. */
export class CrossRequestGroups implements GroupWaiting {
  readonly #clock: Clock
  readonly #run: GroupRun
  /** Maps the key of a group to its rounds, oldest first. */
  readonly #rounds = new Map<string, Round[]>()
  /** Finished rounds with their keys and when they are forgotten, oldest first. */
  readonly #finished = new Map<Round, { readonly key: string; readonly until: number }>()
  /** The submissions that a sample waits or waited for. */
  readonly #submissions = new WeakMap<Sample, Submission[]>()

  /** `run` makes the terms of one group's members, in their order; each member's request gets its own. */
  constructor(clock: Clock, run: GroupRun) {
    this.#clock = clock
    this.#run = run
  }

  /**
   * Resolves once `size` members are there, or `least` when the time is over. A retry, the same answer under the same
   * index, gets what the first try got. Without a training step, the same answer of a member that still waits or has
   * its reward belongs to the next epoch.
   */
  async join(joining: Joining, quorum: Quorum, times: GroupTimes): Promise<Term | null | typeof incomplete> {
    const { sample, context } = joining
    const key = keyOf(joining)
    const name = nameOf(sample)
    const answer = hash('sha256', answerKey(sample))
    this.#forgetOld()
    const rounds = this.#known(key)
    const namesEpoch = context.job.trainingStep !== undefined
    const same = rounds.filter((round) => round.submissions.get(name)?.answer === answer)
    const retried = same.find((round) => namesEpoch || round.submissions.get(name)?.isMissed)
    const repeated = same.at(-1)?.submissions.get(name)
    const round = retried ?? nextOf(rounds, name, namesEpoch) ?? this.#open(key, quorum)
    if (round === incomplete) return incomplete
    const submission =
      (retried && round.submissions.get(name)) || new Submission(answer, repeated?.result ?? null)
    submission.live += 1
    this.#submissions.set(sample, [...(this.#submissions.get(sample) ?? []), submission])
    times.isThatOf(round.times)
    round.add(name, submission, joining)
    if (round.submissions.size >= quorum.size) round.start(quorum.least)
    return submission.result
  }

  /** Must be called when a sample has its outcome, whether or not it joined. */
  sampleDone(sample: Sample, isValid: boolean): void {
    for (const submission of this.#submissions.get(sample) ?? []) {
      submission.live -= 1
      submission.isRewarded ||= isValid
    }
    this.#submissions.delete(sample)
  }

  #open(key: string, quorum: Quorum): Round {
    const made = new Round(this.#clock, this.#run, quorum)
    this.#rounds.set(key, [...(this.#rounds.get(key) ?? []), made])
    void made.ended.then((hasTerms) => {
      if (!hasTerms) return this.#forget(key, made)
      this.#finished.set(made, { key, until: this.#clock.now() + quorum.waitMs })
      this.#forgetOld()
    })
    return made
  }

  /** Rounds of another time limit may be forgotten later than their own says. */
  #forgetOld(): void {
    const now = this.#clock.now()
    for (const [round, { key, until }] of this.#finished) {
      if (until >= now && this.#finished.size <= mostKept) return
      this.#forget(key, round)
    }
  }

  #known(key: string): readonly Round[] {
    for (const round of this.#rounds.get(key) ?? []) {
      const end = this.#finished.get(round)
      if (end && end.until < this.#clock.now()) this.#forget(key, round)
    }
    return (this.#rounds.get(key) ?? []).filter(({ isAbandoned }) => !isAbandoned)
  }

  #forget(key: string, round: Round): void {
    this.#finished.delete(round)
    const left = (this.#rounds.get(key) ?? []).filter((one) => one !== round)
    if (left.length > 0) this.#rounds.set(key, left)
    else this.#rounds.delete(key)
  }
}

function keyOf({ step, context, sample }: Joining): string {
  const { plan, run = '', trainingStep = null } = context.job
  const { prompt, group } = sample
  const parts = [plan.name, plan.version, run, trainingStep, step.name, group?.id, prompt]
  return hash('sha256', JSON.stringify(parts))
}

const nameOf = ({ id, group }: Sample): string =>
  group?.index === undefined ? `id ${id}` : `#${group.index}`

/**
 * The round that a new answer of this name belongs to: the first open one after the name's last answer, or the round
 * of that answer itself if it is a repeat that may give way. null: no round is open. With a training step, an open
 * round takes one answer per name.
 */
function nextOf(
  rounds: readonly Round[],
  name: string,
  namesEpoch: boolean,
): Round | typeof incomplete | null {
  const last = rounds.findLastIndex(({ submissions }) => submissions.has(name))
  const round = rounds[last]
  if (round && !round.isOver) {
    if (round.submissions.get(name)?.earlier) return round
    if (namesEpoch) return incomplete
  }
  return rounds.slice(last + 1).find(({ isOver }) => !isOver) ?? null
}

/** A member's result; null if it does not take part. */
type Result = Term | null | typeof incomplete

/** One answer of one member in one round, whichever requests sent it. */
class Submission {
  /** SHA-256 of the whole answer. */
  readonly answer: string
  /** The result of the same answer in an earlier round; null if the answer is new. */
  readonly earlier: Promise<Result> | null
  readonly result: Promise<Result>
  /** Requests whose sample with this answer has no outcome yet. */
  live = 0
  /** A request got a reward for it. */
  isRewarded = false
  /** Each unsubscribes from the disconnect of one of its requests. */
  readonly watches: (() => void)[] = []
  #resolve: (result: Result | Promise<Result>) => void = () => {}

  constructor(answer: string, earlier: Promise<Result> | null) {
    this.answer = answer
    this.earlier = earlier
    this.result = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** No request waits for it and none got a reward, so the trainer will send it again. */
  get isMissed(): boolean {
    return this.live === 0 && !this.isRewarded
  }

  /** Call once. If the group is incomplete, an earlier round's result is used. */
  end(result: Result): void {
    for (const unwatch of this.watches.splice(0)) unwatch()
    this.#resolve(result === incomplete && this.earlier !== null ? this.earlier : result)
  }
}

/** One round of one group of one step. */
class Round {
  /** By name, in order of arrival. */
  readonly submissions = new Map<string, Submission>()
  /** Resolves to whether any member got more than `incomplete`. Never rejects. */
  readonly ended: Promise<boolean>
  readonly #gathering: Gathering<string>
  readonly #leaving = new CancelToken()
  /** Requests that have not left. */
  #waiting = 0

  constructor(clock: Clock, run: GroupRun, quorum: Quorum) {
    this.#gathering = new Gathering((present, all) => this.#runFor(run, present, all))
    this.#gathering.startAfter(clock, quorum)
    this.ended = this.#gathering.results.then(
      (results) => this.#endAll(results),
      () => this.#endAll(new Map()),
    )
  }

  get isOver(): boolean {
    return this.#gathering.isOver
  }

  /** What its members wait for. */
  get times(): GroupTimes {
    return this.#gathering.times
  }

  /** All requests left before the round had results. The trainer will send the answers again, so the round is dropped. */
  get isAbandoned(): boolean {
    return this.#leaving.aborted
  }

  start(least: number): void {
    this.#gathering.start(least)
  }

  /** A new answer replaces a repeat under the same name: the repeat was a retry of a round that is over. */
  add(name: string, submission: Submission, joining: Joining): void {
    const replaced = this.submissions.get(name)
    if (replaced !== submission) {
      this.submissions.set(name, submission)
      this.#gathering.add(name, joining)
      replaced?.end(incomplete)
    }
    if (this.#gathering.isDone) return
    this.#waiting += 1
    let isHere = true
    const leave = () => {
      if (!isHere) return
      isHere = false
      this.#waiting -= 1
    }
    const unwatch = whenAborted(joining.context.end.signal, () => {
      leave()
      if (this.#waiting > 0) return
      this.#leaving.stop()
      this.start(Number.POSITIVE_INFINITY)
    })
    submission.watches.push(() => {
      unwatch()
      leave()
    })
  }

  #endAll(results: ReadonlyMap<string, Term | null>): boolean {
    const { isAbandoned } = this
    let hasTerms = results.size > 0
    for (const [name, submission] of this.submissions) {
      submission.end(results.has(name) ? (results.get(name) ?? null) : incomplete)
      hasTerms ||= submission.earlier !== null
    }
    return hasTerms && !isAbandoned
  }

  /** Asks on behalf of all members with the request that stays open longest: after a reload, one with the newest configs. */
  async #runFor(
    run: GroupRun,
    present: readonly Joining[],
    all: readonly Joining[],
  ): Promise<readonly Term[]> {
    const longest = all.findLast(({ context }) => !context.end.signal.aborted) ?? (all[0] as Joining)
    const { context: own, step } = longest
    // The questions continue as long as any of the requests waits.
    const deadline = all.reduce((last, { context }) => Math.max(last, context.job.deadline), 0)
    const leaving = this.#leaving
    const end = {
      signal: leaving,
      get isOver() {
        return leaving.aborted
      },
      dispose: () => {},
    }
    const owner = own.times.newOwner()
    this.times.runsAs(own.times, owner)
    const context = { ...own, job: { ...own.job, deadline }, end, owner }
    const release = own.hold()
    return run(
      context,
      step,
      present.map(({ row }) => row as CallRow),
    ).finally(release)
  }
}
