import type { AskName, Generation } from '../contract/index.ts'
import type { CallRow } from '../functions/function-host.ts'
import { fullGuard } from '../models/guard-config.ts'
import { type Answered, AskError } from '../models/models.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { Failure } from '../sample/failure.ts'
import type { Term } from '../sample/outcome.ts'
import type { Score } from '../sample/score.ts'
import { aggregated } from './draws.ts'
import type { GuardedQuestion } from './guard/question.ts'
import { withoutThoughts } from './guard/thoughts.ts'
import { questionsOf, refusedTerm } from './guarded.ts'
import { failed, off, originOf, type StepContext, scored, spoke } from './step.ts'

/** What one draw gave: a score, a text for later steps, nothing readable, or a failure. */
export type Drawn =
  | { readonly status: 'scored'; readonly score: Score }
  | { readonly status: 'text'; readonly text: string }
  | { readonly status: 'unreadable'; readonly failure: Failure }
  | { readonly status: 'failed'; readonly failure: Failure }

/** A model reward's term: question, guard, pool, verdict; once for each draw of each model. Never rejects. */
export async function judgeTerm(context: StepContext, step: PlanStep, row: CallRow): Promise<Term> {
  const refused = refusedTerm(context, step, row)
  if (refused) return refused
  const asked = await context.functions.call({ op: 'preprocess', function: step.function, rows: [row] })
  if (asked.status === 'failed') return failed(context, step, asked.failure)
  if (asked.status === 'verdicts') {
    const [score = null] = asked.verdicts
    return score
      ? scored(context, step, { ...score, flags: [...(score.flags ?? []), 'no_call'] })
      : off(context, step, 'not_applicable')
  }
  const questions = questionsOf(context, step, row, asked.question)
  const draws = step.models.flatMap((model) =>
    Array.from({ length: step.votes.n }, (_, draw) => ({ model, draw })),
  )
  const drawn = await Promise.all(
    draws.map(({ model, draw }) => drawOne(context, step, row, questions.of(model), model, draw)),
  )
  return termOfDraws(context, step, questions.flags, drawn)
}

/** One question to one model, and what the author's rm_postprocess reads in the answer. Never rejects. */
async function drawOne(
  context: StepContext,
  step: PlanStep,
  row: CallRow,
  question: GuardedQuestion,
  model: string,
  draw: number,
): Promise<Drawn> {
  const began = context.clock.now()
  const answered = await ask(context, step, row, question, model, draw)
  const ms = context.clock.now() - began
  const drawn =
    'failure' in answered
      ? ({ status: 'failed', failure: answered.failure } as const)
      : await readDraw(context, step, row, model, answered)
  context.events?.drawn?.({
    step: step.name,
    samples: [originOf(row)],
    model,
    draw,
    template: question.template,
    sampling: step.sampling ?? null,
    ms,
    answered: 'failure' in answered ? null : answered,
    verdict: drawn.status === 'scored' ? drawn.score.value : null,
    failure: 'failure' in drawn ? drawn.failure : null,
  })
  return drawn
}

/** What the author's rm_postprocess reads in an answer. Never rejects. */
async function readDraw(
  context: StepContext,
  step: PlanStep,
  row: CallRow,
  model: string,
  { answer }: Answered,
): Promise<Drawn> {
  if (step.critique) return { status: 'text', text: (answer as Generation).text }
  const truncated = step.ask === 'generate' && (answer as Generation).finishReason === 'length'
  if (truncated) return { status: 'failed', failure: cutOff }
  const cuts = step.ask === 'generate' && (step.guards.get(model) ?? fullGuard).thoughts
  const said = cuts ? withoutThoughts(answer as Generation) : answer
  if (said === null) return { status: 'unreadable', failure: unfinished }
  const read = await context.functions.call({
    op: 'postprocess',
    function: step.function,
    rows: [row],
    answer: said,
  })
  if (read.status === 'failed') return read
  const [score = null] = read.status === 'verdicts' ? read.verdicts : []
  return score ? { status: 'scored', score } : { status: 'unreadable', failure: unparseable }
}

const cutOff: Failure = {
  kind: 'judge_truncated',
  retryable: false,
  detail: 'the judge ran into its token limit; raise max_tokens',
}

const unfinished: Failure = {
  kind: 'judge_unparseable',
  retryable: true,
  detail: 'the judge did not end its thoughts',
}

const unparseable: Failure = {
  kind: 'judge_unparseable',
  retryable: true,
  detail: 'rm_postprocess found no verdict in the answer',
}

async function ask(
  context: StepContext,
  step: PlanStep,
  row: CallRow,
  question: GuardedQuestion,
  model: string,
  draw: number,
): Promise<Answered | { readonly failure: Failure }> {
  const started = context.clock.now()
  try {
    const answered = await context.models.ask<AskName>({
      model,
      ask: step.ask ?? 'generate',
      input: question.input,
      ...(step.function.reply && { reply: step.function.reply }),
      ...(step.sampling && { sampling: step.sampling }),
      key: question.key,
      draw,
      prefix: question.prefix,
      deadline: Math.min(context.job.deadline, started + step.timeoutMs),
      signal: context.end.signal,
    })
    context.events?.asked?.({
      reward: context.job.plan.name,
      step: step.name,
      sampleId: row.sample.id,
      model,
      ms: context.clock.now() - started,
      ...answered,
    })
    return answered
  } catch (error) {
    if (error instanceof AskError) return { failure: error.failure }
    throw error
  }
}

function termOfDraws(
  context: StepContext,
  step: PlanStep,
  flags: readonly string[],
  drawn: readonly Drawn[],
): Term {
  const texts = drawn.flatMap((one) => (one.status === 'text' ? [one.text] : []))
  if (texts.length > 0) return spoke(context, step, texts)
  const { onUnreadable } = step
  const scores = drawn.flatMap((one) => {
    if (one.status === 'scored') return [one.score]
    if (one.status === 'unreadable' && typeof onUnreadable === 'number') {
      return [{ value: onUnreadable, flags: ['unreadable'] }]
    }
    return []
  })
  const verdict = aggregated(scores, drawn.length, step.votes)
  if (verdict) {
    const { score, spread } = verdict
    return scored(
      context,
      step,
      { ...score, flags: [...(score.flags ?? []), ...flags] },
      scores.length,
      spread,
    )
  }
  const failure = drawn.find((one) => one.status === 'failed')
  const unreadable = drawn.find((one) => one.status === 'unreadable')
  if (!failure && unreadable && onUnreadable === 'skip') return off(context, step, 'skipped')
  return failed(context, step, failure?.failure ?? unreadable?.failure ?? unparseable)
}
