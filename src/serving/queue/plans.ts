import { isOverGroup } from '../../scoring/engine/step.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'

type Plan = ReturnType<Gateway['reward']>

/** What the queue asks of a reward's plan. A reward may have gone since its rollouts were accepted. */
export class Plans {
  readonly #gateway: Pick<Gateway, 'reward'>

  constructor(gateway: Pick<Gateway, 'reward'>) {
    this.#gateway = gateway
  }

  has(reward: string): boolean {
    return this.#of(reward) !== null
  }

  /** Whether the reward compares the answers of a group. */
  compares(reward: string): boolean {
    return this.#of(reward)?.steps.some(isOverGroup) ?? false
  }

  /** How many answers of a group are enough; null: all. */
  leastOf(reward: string): number | null {
    return this.#of(reward)?.group.min ?? null
  }

  /** Each rollout has its own result: one without a reward does not fail the others. */
  policyOf(reward: string): { readonly onInvalid?: null } {
    return this.#of(reward)?.onInvalid.kind === 'fail' ? { onInvalid: null } : {}
  }

  #of(reward: string): Plan | null {
    try {
      return this.#gateway.reward(reward)
    } catch {
      return null
    }
  }
}
