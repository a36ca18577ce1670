import type { AskName, Asks, Decided } from '../../../contract/index.ts'
import { isDecision, isService, questionImages } from '../../../contract/question.ts'
import { type Failure, isTextOnly, type Term } from '../../../core/sample/sample.ts'
import { turnFor } from '../../../core/slices.ts'
import { QuestionTimes } from '../../../core/stalls/request-times.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { type Answered, AskError } from '../../models/interface/ask.ts'
import { withoutImageBytes } from '../../models/interface/question-json.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import type { VoteEvent } from '../events.ts'
import type { GuardedQuestion } from '../guard/guarded-question.ts'
import {
  called,
  failedTerm,
  originOf,
  ownerOf,
  scoredTerm,
  skippedTerm,
  textTerm,
  unforeseen,
} from '../step.ts'
import { imageFailure, leavesOutTurns, shownQuestion, unseenContent } from '../unseen-content.ts'
import { type Fitted, withinBudget } from './prompt-budget.ts'
import {
  askOf,
  echoFlags,
  questionsOf,
  readAnswer,
  refusedScore,
  refusedTerm,
  type StepPart,
} from './step-question.ts'
import {
  aggregateVotes,
  collectVotes,
  type Draw,
  drawsOf,
  type Said,
  termOf,
  unparseable,
  type Vote,
} from './votes.ts'

/** The term of a model reward: asks for each draw of each model and aggregates the votes. Never rejects. */
export async function judgeTerm(context: StepContext, step: PlanStep, row: CallRow): Promise<Term> {
  const refused = refusedTerm(context, step, row)
  if (refused) return refused
  const calling = called(context, { op: 'preprocess', function: step.function, rows: [row] })
  const asked = calling instanceof Promise ? await calling : calling
  if (asked.status === 'failed') return failedTerm(context, step, asked.failure)
  if (asked.status === 'verdicts') {
    // No question was asked, so that the function read what rules read.
    const unseen = unseenContent({ ask: null, ignore: step.ignore }, row.sample)
    if (unseen) return failedTerm(context, step, unseen)
    const [score = null] = asked.verdicts
    return score
      ? scoredTerm(context, step, { ...score, flags: [...(score.flags ?? []), 'no_call'] })
      : skippedTerm(context, step, 'not_applicable')
  }
  if (asked.status !== 'question') return failedTerm(context, step, unforeseen(null))
  const query = judgeQuery(context, step, [row], asked.question)
  const draws = drawsOf(step)
  const votes = await collectVotes(
    step,
    draws.map((draw) => () => query.ask(draw)),
    1,
  )
  const noticed = query.noticed()
  if (votes.some(({ status }) => status === 'text'))
    return textTerm(
      context,
      step,
      votes.flatMap((one) => (one.status === 'text' ? [one.text] : [])),
    )
  const echoes = echoFlags(context, step, row)
  const flags = echoes.length > 0 ? [...noticed, ...echoes] : noticed
  return termOf(context, step, aggregateVotes(step, votes, 0, draws.length), flags)
}

/** A question about some rows, on its way to a step's models. */
export interface JudgeQuery {
  /** Never rejects. */
  ask(draw: Draw): Promise<Vote> | Vote
  /** Flags from preparing the question for the models that were asked. Call it once. */
  noticed(): readonly string[]
}

/** Prepares the question once per model, when that model is first asked. `part`: it is one of several. */
export function judgeQuery(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
  given: Asks[AskName]['input'],
  part: StepPart | null = null,
): JudgeQuery {
  // Most rows and questions are texts: nothing of them can be unseen.
  const isText = questionImages(given).length === 0 && rows.every(({ sample }) => isTextOnly(sample))
  const question = isText ? given : shownQuestion(step, given)
  const made: { readonly model: string; readonly fitting: Fitted | Promise<Fitted> }[] = []
  const questions = questionsOf(context, step, rows, question)
  let isCut = false
  const ready = (model: string): Fitted | Promise<Fitted> => {
    const known = made.find((one) => one.model === model)
    if (known) return known.fitting
    const failure = isText ? null : imageFailure(step, model, question, rows)
    if (failure) {
      const failed: Fitted = { status: 'failed', failure }
      made.push({ model, fitting: failed })
      return failed
    }
    const budget = step.budgets.get(model)
    const fit = () =>
      budget
        ? withinBudget(context, step, model, budget, rows, question, questions, part?.values)
        : ({ status: 'fits', question: questions.of(model), isCut: false } as const)
    const fitting = questions.ready(model)?.then(fit) ?? fit()
    made.push({ model, fitting })
    return fitting
  }
  const askFitted = (fitting: Fitted, draw: Draw): Promise<Vote> | Vote => {
    const { model } = draw
    if (fitting.status === 'failed') return { model, status: 'failed', failure: fitting.failure }
    if (fitting.status === 'refused')
      return { model, status: 'read', verdicts: rows.map(() => refusedScore(step)) }
    isCut ||= fitting.isCut
    const ask = () => castVote(context, step, rows, fitting.question, draw, part)
    // Writing the body of a long question takes time: other requests get their turn first.
    return turnFor(questions.chars)?.then(ask) ?? ask()
  }
  const askOnce = (draw: Draw): Promise<Vote> | Vote => {
    const fitting = ready(draw.model)
    return fitting instanceof Promise
      ? fitting.then((fitted) => askFitted(fitted, draw))
      : askFitted(fitting, draw)
  }
  return {
    ask: (draw) => {
      const { escalate } = step
      // A canary asks what one instance says.
      if (!escalate || draw.instance !== undefined) return askOnce(draw)
      return escalated(context, step, draw, askOnce)
    },
    noticed() {
      const noticed = questions.noticed()
      const isPartial = !isText && leavesOutTurns(question, rows)
      const own = flagsIn(question)
      if (!isCut && !isPartial && own.length === 0) return noticed
      return [...noticed, ...(isCut ? ['truncated'] : []), ...(isPartial ? ['turns_unseen'] : []), ...own]
    },
  }
}

/** The vote of a draw, or that of the second judge where the first one is not sure. If the second fails, so does the vote. */
async function escalated(
  { events, job }: StepContext,
  { name, escalate }: PlanStep,
  draw: Draw,
  askOnce: (draw: Draw) => Promise<Vote> | Vote,
): Promise<Vote> {
  const first = await askOnce(draw)
  if (!escalate || first.status !== 'read' || !((first.confidence ?? 1) < escalate.below)) return first
  events?.escalated?.({ reward: job.plan.name, step: name })
  const second = await askOnce({ ...draw, model: escalate.model })
  if (second.status !== 'read') return { ...second, model: draw.model }
  const verdicts = second.verdicts.map(
    (score) =>
      score && {
        ...score,
        details: { ...score.details, escalated: true },
        flags: [...(score.flags ?? []), 'escalated'],
      },
  )
  return { ...second, model: draw.model, verdicts }
}

/** The flags that the author's question brings. */
function flagsIn(question: Asks[AskName]['input']): readonly string[] {
  if (typeof question === 'string' || isService(question)) return []
  if (isDecision(question)) return question.about.flags ?? []
  if (!('kind' in question)) return 'question' in question ? flagsIn(question.question) : []
  if (question.kind === 'prompt') return question.flags ?? []
  return question.messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : (content.flags ?? []),
  )
}

/** Asks one model and reads its answer with the author's rm_postprocess. Never rejects. */
async function castVote(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
  question: GuardedQuestion,
  { model, draw, instance }: Draw,
  part: StepPart | null = null,
): Promise<Vote> {
  const began = context.clock.now()
  const answered = await ask(context, step, rows, question, { model, draw, instance }, part)
  const ms = context.clock.now() - began
  let vote: Vote
  if ('failure' in answered) vote = { model, status: 'failed', failure: answered.failure }
  else {
    const reading = readAnswer(context, step, rows, question, model, answered, part)
    vote = voteOf(model, reading instanceof Promise ? await reading : reading)
    if (vote.status === 'read' && step.ask === 'decide')
      vote = { ...vote, confidence: Math.max(...(answered.answer as Decided).probabilities) }
  }
  const said = verdictOf(vote)
  // An unreadable answer must not be cached: the next try may get a readable one.
  if (said.failure && !('failure' in answered)) answered.forget?.()
  const { events, job } = context
  if (events?.voted || job.onVote) {
    const event: VoteEvent = {
      step: step.name,
      samples: rows.map(originOf),
      model,
      draw,
      template: question.template,
      question: withoutImageBytes(question.input),
      sampling: step.sampling ?? null,
      ms,
      answered: 'failure' in answered ? null : answered,
      ...said,
    }
    events?.voted?.(event)
    job.onVote?.(event)
  }
  return vote
}

const voteOf = (model: string, said: Said): Vote =>
  said.status === 'read'
    ? { model, status: 'read', verdicts: said.verdicts, unreadable: said.unreadable }
    : { model, ...said }

/** A list has many verdicts; they are in its rows' outcomes. */
function verdictOf(vote: Vote): { readonly verdict: number | null; readonly failure: Failure | null } {
  if (vote.status === 'failed') return { verdict: null, failure: vote.failure }
  if (vote.status === 'text') return { verdict: null, failure: null }
  const { verdicts } = vote
  const isUnreadable = verdicts.every((verdict) => verdict === null)
  return {
    verdict: verdicts.length === 1 ? (verdicts[0]?.value ?? null) : null,
    failure: isUnreadable ? (vote.unreadable ?? unparseable) : null,
  }
}

function ask(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
  question: GuardedQuestion,
  { model, draw, instance }: Draw,
  part: StepPart | null,
): Promise<Answered | { readonly failure: Failure }> {
  const started = context.clock.now()
  const group = rows[0]?.sample.group
  const { trace, waitTime, answers } = context.job
  waitTime?.begin(started)
  const times = new QuestionTimes()
  const wait = context.times.wait(ownerOf(context, rows), 'answer', model, started, { question: times })
  const over = (): void => {
    wait.to = context.clock.now()
    waitTime?.end(wait.to)
  }
  const asking = context.models.ask<AskName>({
    model,
    ask: askOf(step),
    input: question.input,
    reply: step.labels ? undefined : (part?.reply ?? step.function.reply),
    sampling: step.sampling,
    key: question.key,
    draw,
    instance,
    prefix: part ? `${question.prefix}\n${part.shared}` : question.prefix,
    group: group?.id,
    answers,
    trace,
    times,
    deadline: Math.min(context.job.deadline, started + step.timeoutMs),
    signal: context.end.signal,
  })
  return asking.then(
    (answered) => {
      over()
      wait.isAnswered = true
      return answered
    },
    (error) => {
      over()
      if (error instanceof AskError) return { failure: error.failure }
      throw error
    },
  )
}
