import { uniform } from './hash.ts'
import type { JudgePrompt } from './judge-prompt.ts'
import type { Draw, Judged, Policy } from './policies.ts'

/** Whether right answers do not meet a criterion, by its words. */
export const namesFault = (criterion: string): boolean =>
  /\b(?:other than|wrong|incorrect|false|errors?|mistakes?|faults?)\b/iu.test(criterion)

/** A policy with a rate of mistakes. */
export class Judge {
  readonly #policy: Policy
  readonly #wrongRate: number
  readonly #undecided: number

  constructor(policy: Policy, wrongRate: number, undecided: number) {
    this.#policy = policy
    this.#wrongRate = wrongRate
    this.#undecided = undecided
  }

  /** The whole reply, or a verdict on each candidate (at least one). */
  opinion(prompt: JudgePrompt, draw: Draw): string | readonly Judged[] {
    const reply = this.#policy(prompt, draw)
    if (typeof reply === 'string') return reply
    // A policy without parameters reads nothing, so its prompt is not parsed.
    const isRead = this.#policy.length > 0
    const [candidates, criteria] = isRead ? [prompt.candidates, prompt.criteria] : [[], []]
    const [criterion] = criteria
    if (candidates.length < 2) {
      const asked = criterion ? criteria : [{ label: '', text: '' }]
      return asked.map((one) => ({ ...one, ...this.#judged(reply, prompt, draw, one.label, one.text) }))
    }
    return candidates.map((candidate) => {
      const subject = prompt.about(candidate)
      return this.#judged(this.#policy(subject, draw), subject, draw, candidate.label, criterion?.text ?? '')
    })
  }

  #judged(
    reply: ReturnType<Policy>,
    prompt: JudgePrompt,
    draw: Draw,
    label: string,
    criterion: string,
  ): Judged {
    if (reply === null || typeof reply === 'string') {
      return { label, score: this.#undecided, reason: 'There is nothing to go by.' }
    }
    const isRight = namesFault(criterion) === this.#isWrong(prompt, draw)
    return { label, score: isRight ? reply.score : 1 - reply.score, reason: reply.reason }
  }

  /**
   * The probability, 0 to 1, that the (first) answer is right, as a scalar model would see it. null:
   * undecided.
   */
  score(prompt: JudgePrompt, draw: Draw): number | null {
    const verdict = this.#policy(prompt, draw)
    if (verdict === null || typeof verdict === 'string') return null
    return this.#isWrong(prompt, draw) ? 1 - verdict.score : verdict.score
  }

  /** Depends on question and answer only, so that fences and templates do not move mistakes. */
  #isWrong(prompt: JudgePrompt, { seed, index }: Draw): boolean {
    if (this.#wrongRate <= 0) return false
    return uniform(seed, 'wrong', prompt.question, prompt.answer, index) < this.#wrongRate
  }
}
