import type { Sample } from '../../core/sample/sample.ts'

/** What an attack is made from: one of the user's rows, whose response is a right answer. */
export interface Subject {
  readonly sample: Sample
  readonly prompt: string
  /** The ground truth as one text; null: it has no such form. */
  readonly truth: string | null
  /** Another text of the truth's kind; null: none could be made. */
  readonly wrong: string | null
  /** The right answer with a wrong value, in the same form; null: none could be made and none was given. */
  readonly near: string | null
  /** All near misses: those that were given, else the one that was made. */
  readonly nears: readonly string[]
}

/**
 * What the response has earned: `nothing`: what an answer that ignores the task is paid; `wrong`: what a near miss is
 * paid; `right`: what the right answer is paid, and no less; `time`: any verdict, in time.
 */
export type Entitled = 'nothing' | 'wrong' | 'right' | 'time'

/** One response that tries to earn more than it has earned. Pure. */
export interface Attack {
  /** `family/name`. */
  readonly id: string
  readonly family: string
  readonly against: 'judge' | 'rule' | 'cost'
  readonly entitled: Entitled
  /** null: it does not apply to this row, or would be a right answer by luck. */
  make(subject: Subject): string | null
}

/** Attacks of one family, by name. */
export function family(
  name: string,
  against: Attack['against'],
  entitled: Entitled,
  makers: Readonly<Record<string, Attack['make']>>,
): readonly Attack[] {
  return Object.entries(makers).map(([title, make]) => ({
    id: `${name}/${title}`,
    family: name,
    against,
    entitled,
    make,
  }))
}
