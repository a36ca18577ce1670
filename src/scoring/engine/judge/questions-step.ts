/** Steps that ask several questions: about one row, or about all answers of a group. */

import { hash } from 'node:crypto'
import type { Finding, PartQuestions } from '../../../contract/index.ts'
import { askedPart, isPartDecision } from '../../../contract/questions.ts'
import type { Failure, Term } from '../../../core/sample/sample.ts'
import type { CallResult, CallRow } from '../../functions/function-host.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import { callRoom, drawRoom } from '../job.ts'
import { called, failedTerm, scoredTerm, skippedTerm, unforeseen } from '../step.ts'
import { unseenContent } from '../unseen-content.ts'
import { judgeQuery } from './ask.ts'
import { echoFlags, refusedAmong } from './step-question.ts'
import { type Aggregate, aggregateVotes, collectVotes, drawsOf } from './votes.ts'

/**
 * The term of a step that asks several questions about a row. Takes its room in the gates itself. `instance`: the only one
 * that is asked. Never rejects.
 */
export async function questionsTerm(
  context: StepContext,
  step: PlanStep,
  row: CallRow,
  instance?: string,
): Promise<Term> {
  const [term] = await groupQuestionsTerms(context, step, [row], instance)
  return term ?? failedTerm(context, step, unforeseen(null))
}

/** One term per row, from questions about all of them. Never rejects. */
export async function groupQuestionsTerms(
  context: StepContext,
  step: PlanStep,
  all: readonly CallRow[],
  instance?: string,
): Promise<readonly Term[]> {
  const { calls } = context.gates
  const refused = await calls.all(all.length, callRoom, (at) =>
    refusedAmong(context, step, all[at] as CallRow),
  )
  const rows = all.filter((_row, at) => !refused[at])
  const own = rows.length === 0 ? [] : await askedTerms(context, step, rows, instance)
  const left = own[Symbol.iterator]()
  return refused.map((term) => term ?? left.next().value ?? failedTerm(context, step, unforeseen(null)))
}

async function askedTerms(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
  instance: string | undefined,
): Promise<readonly Term[]> {
  const { calls } = context.gates
  const call = { op: 'preprocess', function: step.function, rows } as const
  const asked = await calls.through(callRoom, async () => called(context, call))
  if (asked.status === 'verdicts') return rows.map((row, at) => unaskedTerm(context, step, row, asked, at))
  if (asked.status !== 'questions') {
    const term = failedTerm(context, step, asked.status === 'failed' ? asked.failure : unforeseen(null))
    return rows.map(() => term)
  }
  const round = new Round(context, step, rows, asked.questions, instance)
  const stages = [...new Set(asked.questions.questions.map(({ stage = 0 }) => stage))].sort((a, b) => a - b)
  for (const stage of stages) {
    await round.ask(stage)
    const result = await calls.through(callRoom, async () =>
      called(context, { op: 'combine', function: step.function, rows, found: round.findings() }),
    )
    if (result.status !== 'undecided') return round.terms(result)
  }
  return round.terms({ status: 'failed', failure: undecided })
}

/** The term of a row about which no question was asked, so that the function read what rules read. */
function unaskedTerm(
  context: StepContext,
  step: PlanStep,
  row: CallRow,
  { verdicts }: Extract<CallResult, { status: 'verdicts' }>,
  at: number,
): Term {
  const unseen = unseenContent({ ask: null, ignore: step.ignore }, row.sample)
  if (unseen) return failedTerm(context, step, unseen)
  const score = verdicts[at]
  return score
    ? scoredTerm(context, step, { ...score, flags: [...(score.flags ?? []), 'no_call'] })
    : skippedTerm(context, step, 'not_applicable')
}

/** The questions about some rows, and what was found so far. */
class Round {
  readonly #context: StepContext
  readonly #step: PlanStep
  readonly #rows: readonly CallRow[]
  readonly #asked: PartQuestions
  readonly #shared: string
  readonly #instance: string | undefined
  readonly #found: (readonly Aggregate[] | undefined)[] = []
  readonly #flags = new Set<string>()
  #draws = 0

  constructor(
    context: StepContext,
    step: PlanStep,
    rows: readonly CallRow[],
    asked: PartQuestions,
    instance: string | undefined,
  ) {
    this.#context = context
    this.#step = step
    this.#rows = rows
    this.#asked = asked
    this.#instance = instance
    this.#shared = hash('sha256', JSON.stringify([asked.about.literals, asked.about.values]))
  }

  /** Asks the questions of a stage, side by side as far as there is room. */
  async ask(stage: number): Promise<void> {
    const places = this.#asked.questions.flatMap((one, at) => ((one.stage ?? 0) === stage ? [at] : []))
    const gate = this.#context.gates.of(this.#step.models)
    const room = drawsOf(this.#step).length * drawRoom
    await gate.all(places.length, room, async (index) => this.#askOne(places[index] ?? 0))
  }

  async #askOne(at: number): Promise<void> {
    const question = this.#asked.questions[at]
    if (!question || this.#context.end.isOver) return
    const scores = scoresOf(question)
    const reply = isPartDecision(question) ? undefined : question.reply
    const { length: values } = this.#asked.about.values
    const part = { at, scores, reply, shared: this.#shared, values }
    const whole = askedPart(this.#asked.about, question)
    const query = judgeQuery(this.#context, this.#step, this.#rows, whole, part)
    const draws = drawsOf(this.#step)
    const votes = await collectVotes(
      this.#step,
      draws.map(
        (draw) => () =>
          query.ask(this.#instance === undefined ? draw : { ...draw, instance: this.#instance }),
      ),
      scores,
    )
    for (const flag of query.noticed()) this.#flags.add(flag)
    this.#draws += votes.length
    const found = Array.from({ length: scores }, (_, column) =>
      aggregateVotes(this.#step, votes, column, draws.length),
    )
    this.#found[at] = found
    this.#tellCriteria(question, found)
  }

  /** A question of a cancelled request says nothing about its criteria. */
  #tellCriteria({ criteria }: PartQuestions['questions'][number], found: readonly Aggregate[]): void {
    const { events, job } = this.#context
    const [first] = criteria ?? []
    if (!criteria || first === undefined || !events?.criteriaJudged) return
    if (found.some((one) => one.status === 'failed' && one.failure.kind === 'cancelled')) return
    const { name, function: own } = this.#step
    const verdicts = found.map((one, column) => {
      const criterion = criteria[column] ?? first
      const score = one.status === 'scored' ? one.score.value : null
      return { criterion, isDeclared: own.parts.includes(criterion), score }
    })
    events.criteriaJudged({ reward: job.plan.name, step: name, verdicts })
  }

  /** What was found so far, question by question. */
  findings(): readonly (readonly Finding[])[] {
    return this.#asked.questions.map((question, at) =>
      Array.from({ length: scoresOf(question) }, (_, column) => findingOf(this.#found[at]?.[column])),
    )
  }

  /** One term per row. */
  terms(result: CallResult): readonly Term[] {
    const [context, step] = [this.#context, this.#step]
    if (result.status !== 'verdicts') {
      const term = failedTerm(context, step, result.status === 'failed' ? result.failure : unforeseen(null))
      return this.#rows.map(() => term)
    }
    return this.#rows.map((row, at) => {
      const score = result.verdicts[at]
      if (!score) return this.#missing(at)
      const flags = [...(score.flags ?? []), ...this.#flags, ...echoFlags(context, step, row)]
      return scoredTerm(context, step, { ...score, flags: [...new Set(flags)] }, this.#draws)
    })
  }

  /** Why a row has no score: the first answer that it lacks, and what all of those are about. */
  #missing(row: number): Term {
    const isOfGroup = this.#step.kind === 'group-questions'
    const own = this.#asked.questions.flatMap(({ names = [] }, at) => {
      const found = (this.#found[at] ?? []).map((one, column) => ({ one, name: names[column] ?? names[0] }))
      return isOfGroup ? found.slice(row, row + 1) : found
    })
    const lacking = own.filter(({ one }) => one.status !== 'scored')
    const failed = lacking.filter(({ one }) => one.status === 'failed')
    const first = failed[0]?.one
    if (first?.status === 'failed') {
      const names = failed.flatMap(({ name = null }) => (name === null ? [] : [name]))
      return failedTerm(this.#context, this.#step, counted(first.failure, lacking.length, own.length, names))
    }
    return lacking.length > 0
      ? skippedTerm(this.#context, this.#step, 'skipped')
      : failedTerm(this.#context, this.#step, noVerdict)
  }
}

const scoresOf = (question: PartQuestions['questions'][number]): number =>
  isPartDecision(question) ? 1 : (question.scores ?? 1)

/** Of more, the number says how many they are. */
const mostNamed = 8

function counted(failure: Failure, lacking: number, asked: number, names: readonly string[]): Failure {
  const named = names.slice(0, mostNamed).join(', ')
  const all = names.length > mostNamed ? `${named}, ...` : named
  const count = asked === 1 ? '' : `${lacking} of ${asked} verdicts are missing`
  const said = [count, all].filter((text) => text !== '').join(': ')
  return said === '' ? failure : { ...failure, detail: `${failure.detail} (${said})` }
}

function findingOf(found: Aggregate | undefined): Finding {
  if (!found) return { status: 'unasked' }
  if (found.status === 'scored')
    return { status: 'scored', score: found.score, draws: found.draws, spread: found.spread }
  return { status: 'missing', kind: found.status === 'failed' ? found.failure.kind : 'judge_unparseable' }
}

const undecided: Failure = {
  kind: 'function_error',
  retryable: false,
  detail: 'combine gave undefined after the last stage',
}

const noVerdict: Failure = {
  kind: 'judge_unparseable',
  retryable: false,
  detail: 'the answers of the judge give no verdict',
}
