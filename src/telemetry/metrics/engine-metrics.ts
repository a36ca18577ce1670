import type { EngineEvents } from '../../engine/events.ts'
import { type Instruments, scoreBuckets, secondBuckets } from './instruments.ts'

/** What the engine tells, counted: samples, terms, questions, and what the guard had to do. */
export function engineMetrics(make: Instruments): EngineEvents {
  const samples = make.counter('samples_total', 'Samples answered, by whether they have a reward.', [
    'reward',
    'valid',
  ])
  const invalid = make.counter('samples_invalid_total', 'Samples without a reward.', ['reward', 'kind'])
  const terms = make.counter('terms_total', 'Terms: scored, text, off or failed.', [
    'reward',
    'step',
    'status',
  ])
  const scores = make.histogram('term_score', 'Scores of a term.', ['reward', 'step'], scoreBuckets)
  const gated = make.counter('gated_total', 'Steps that a closed gate saved.', ['reward', 'step'])
  const questions = make.counter('questions_total', 'Answered questions: by a call, by the cache, joined.', [
    'model',
    'source',
  ])
  const waits = make.histogram(
    'question_duration_seconds',
    'Time to the answer of a question.',
    ['model'],
    secondBuckets,
  )
  const guarded = make.counter(
    'guard_total',
    'Questions and answers in which a part of the guard had something to do.',
    ['reward', 'step', 'part'],
  )
  return {
    scored({ reward, outcome }) {
      samples(1, reward, String(outcome.valid))
      if (!outcome.valid) invalid(1, reward, outcome.failure.kind)
      for (const term of outcome.terms) {
        terms(1, reward, term.name, term.status)
        if (term.status === 'scored') scores(term.score.value, reward, term.name)
        if (term.status === 'off' && term.why === 'gate') gated(1, reward, term.name)
      }
    },
    asked({ model, source, ms }) {
      questions(1, model, source)
      waits(ms / 1000, model)
    },
    guarded({ reward, step, parts }) {
      for (const part of parts) guarded(1, reward, step, part)
    },
  }
}
