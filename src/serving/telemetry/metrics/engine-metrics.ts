import { eachInSlices } from '../../../core/slices.ts'
import type { EngineEvents } from '../../../scoring/engine/events.ts'
import { type Instruments, scoreBuckets, secondBuckets } from './instruments.ts'

const statuses = ['scored', 'text', 'off', 'failed'] as const

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
    done({ plan: { name: reward, steps }, rows, outcomes }) {
      let valid = 0
      let without = 0
      const ends = steps.map(() => ({ scored: 0, text: 0, off: 0, failed: 0 }))
      const count = (index: number): void => {
        const row = rows[index]
        const outcome = outcomes[index]
        if (!row || 'failure' in row || !outcome) return
        if (outcome.valid) valid += 1
        else {
          without += 1
          invalid(1, reward, outcome.failure.kind)
        }
        for (let at = 0; at < outcome.terms.length; at++) {
          const term = outcome.terms[at]
          const end = ends[at]
          if (!term || !end) continue
          end[term.status] += 1
          if (term.status === 'scored') scores(term.score.value, reward, term.name)
          else if (term.status === 'off' && term.why === 'gate') gated(1, reward, term.name)
        }
      }
      const sum = (): void => {
        if (valid > 0) samples(valid, reward, 'true')
        if (without > 0) samples(without, reward, 'false')
        for (const [at, end] of ends.entries())
          for (const status of statuses)
            if (end[status] > 0) terms(end[status], reward, steps[at]?.name ?? '', status)
      }
      return eachInSlices(outcomes.length, count, sum)
    },
    drawn({ model, answered, ms }) {
      if (!answered) return
      questions(1, model, answered.source)
      waits(ms / 1000, model)
    },
    guarded({ reward, step, parts }) {
      for (const part of parts) guarded(1, reward, step, part)
    },
  }
}
