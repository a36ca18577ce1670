/** Verdicts on the criteria of rubrics. Rows bring criteria along, so this bounds how many have figures of their own. */

import type { Clock } from '../../../core/clock.ts'
import type { CriteriaJudged, CriterionVerdict, EngineEvents } from '../../../scoring/engine/events.ts'
import type { Instruments } from './instruments.ts'

/** Criteria of a step with figures of their own, beside the tags that its options name. */
const mostCriteria = 100
/** A criterion that was silent for so long gives its place to another. */
const silentMs = 600_000
/** Where the verdicts on further criteria count, and those of a tag or a criterion with this name. */
const others = '(other)'

const verdicts = ['met', 'unmet', 'none'] as const
type Verdict = (typeof verdicts)[number]

type Counts = Record<Verdict, number>

/** Counts verdicts on criteria. Series that are given up vanish from the next scrape. */
export function criterionMetrics(
  make: Instruments,
  clock: Clock,
): Required<Pick<EngineEvents, 'criteriaJudged'>> {
  const rewards = new Map<string, Map<string, StepCriteria>>()
  make.read(
    'counter',
    'criterion_verdicts_total',
    'Verdicts on the criteria of rubrics: met, unmet, or none where the judge gave no readable one.',
    ['reward', 'step', 'criterion', 'verdict'],
    () =>
      [...rewards].flatMap(([reward, steps]) =>
        [...steps].flatMap(([step, criteria]) =>
          criteria.counts().flatMap(([criterion, counts]) =>
            verdicts.map((verdict) => ({
              values: [reward, step, criterion, verdict],
              value: counts[verdict],
            })),
          ),
        ),
      ),
  )
  const criteriaOf = ({ reward, step }: CriteriaJudged): StepCriteria => {
    const steps = rewards.get(reward) ?? new Map<string, StepCriteria>()
    rewards.set(reward, steps)
    const criteria = steps.get(step) ?? new StepCriteria(clock)
    steps.set(step, criteria)
    return criteria
  }
  return {
    criteriaJudged(event) {
      const criteria = criteriaOf(event)
      for (const verdict of event.verdicts) criteria.add(verdict)
    },
  }
}

/** The criteria of one step. */
class StepCriteria {
  readonly #clock: Clock
  /** Declared by the function, so that there are few. */
  readonly #declared = new Map<string, Counts>()
  /** The least recently judged first. */
  readonly #own = new Map<string, { readonly counts: Counts; last: number }>()
  readonly #others: Counts = none()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add({ criterion, isDeclared, score }: CriterionVerdict): void {
    const counts =
      criterion === others ? this.#others : isDeclared ? this.#declaredOf(criterion) : this.#ownOf(criterion)
    counts[score === null ? 'none' : score > 0.5 ? 'met' : 'unmet'] += 1
  }

  counts(): readonly (readonly [criterion: string, counts: Counts])[] {
    const own = [...this.#own].map(([criterion, { counts }]) => [criterion, counts] as const)
    const rest = verdicts.some((verdict) => this.#others[verdict] > 0)
      ? ([[others, this.#others]] as const)
      : []
    return [...this.#declared, ...own, ...rest]
  }

  #declaredOf(criterion: string): Counts {
    const counts = this.#declared.get(criterion) ?? none()
    this.#declared.set(criterion, counts)
    return counts
  }

  #ownOf(criterion: string): Counts {
    const now = this.#clock.now()
    const known = this.#own.get(criterion)
    if (!known && this.#own.size >= mostCriteria) {
      const [oldest] = this.#own
      if (!oldest || now - oldest[1].last < silentMs) return this.#others
      this.#own.delete(oldest[0])
    }
    const one = known ?? { counts: none(), last: now }
    one.last = now
    this.#own.delete(criterion)
    this.#own.set(criterion, one)
    return one.counts
  }
}

const none = (): Counts => ({ met: 0, unmet: 0, none: 0 })
