import type { Outcome, Sample } from './core/sample/sample.ts'
import { openObservedGateway } from './serving/observed-gateway.ts'

/** One rollout to score. Missing fields are empty; a missing `id` is the rollout's index. */
export interface Rollout extends Partial<Sample> {
  readonly response: string
}

/** Where the rewards are defined. No other file is read. */
export interface GatewayOptions {
  /** Files and folders with rm-configs, and gateway.yaml with the models and limits that they share. */
  readonly configs: readonly string[]
  /** Folders with your own reward functions, in addition to the package's and those that gateway.yaml names. */
  readonly functionFolders?: readonly string[]
  /** The values of `${NAME}` in configs. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Rollouts for one reward. Each is scored alone, except in steps that compare the answers of a group. */
export interface ScoreJob {
  /** The reward's `name:`, or else its file's name without the extension. */
  readonly reward: string
  readonly rollouts: readonly Rollout[]
  /** Cancels the job. Unfinished rollouts fail as `cancelled`. */
  readonly signal?: AbortSignal
  /** Milliseconds from now. The shorter of this and the config's `deadline_s` applies. */
  readonly deadlineMs?: number
  /** The training run's name in records and monitors. */
  readonly run?: string
  /** Used by weights that change during training. */
  readonly trainingStep?: number
  /**
   * Called once per rollout when its outcome is final, in any order. It gets a copy, so it cannot change the outcome. An
   * error that it throws becomes a process warning.
   */
  readonly onOutcome?: (index: number, outcome: Outcome) => void
}

/** The result of a job. */
export interface Scored {
  /** One per rollout, in order: a finite reward, or the failure that prevented it. */
  readonly outcomes: readonly Outcome[]
  /** A hash of the config and the functions that scored the job. */
  readonly version: string
}

/** An open gateway. Its worker threads and connections live until `close`. */
export interface Gateway {
  /** The names of the rewards, in the order of their configs. */
  readonly rewards: readonly string[]
  /**
   * Returns an outcome for every rollout. Rejects if the whole job is refused: RG_REWARD_UNKNOWN, RG_OVERLOADED (try
   * again later), RG_CLOSING, or RG_SAMPLES_FAILED if the reward says `on_invalid: fail`.
   */
  score(job: ScoreJob): Promise<Scored>
  /** The models without a working server at the moment. Empty if every reward can be scored. */
  missing(): readonly string[]
  /** Reads configs and functions again. Running jobs keep the old ones. Rejects on any mistake and then keeps the old ones. */
  reload(): Promise<void>
  /** Refuses new jobs, waits for running ones, at most `graceMs` (default: `shutdown.grace_s`), and ends all threads. */
  close(graceMs?: number): Promise<void>
}

/**
 * Opens a gateway with its workers and models. Rejects with RG_CONFIG_INVALID or RG_FUNCTION_INVALID, and with all mistakes
 * as `problems`.
 *
 * @example
 * ```ts
 * import { openGateway } from 'reward-gateway'
 *
 * const gateway = await openGateway({ configs: ['rewards/'] })
 * const { outcomes } = await gateway.score({
 *   reward: 'arithmetic',
 *   rollouts: [{ prompt: 'What is 2 + 2?', response: '4', groundTruth: '4' }],
 * })
 * for (const outcome of outcomes)
 *   console.log(outcome.valid ? outcome.reward : outcome.failure.detail)
 * await gateway.close()
 * ```
 */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { functionFolders = [], env = process.env } = options
  const whole = await openObservedGateway({ configs: options.configs, functionFolders, env })
  return {
    get rewards() {
      return whole.rewards().map(({ name }) => name)
    },
    async score({ rollouts, signal, onOutcome, ...job }) {
      return await whole.score({
        ...job,
        ...(onOutcome && { onOutcome: (index, outcome) => onOutcome(index, structuredClone(outcome)) }),
        rows: rollouts.map(sampleOf),
        signal: signal ?? (() => new AbortController().signal),
      })
    },
    missing: () => whole.missing(),
    reload: () => whole.reload(),
    close: (graceMs) => whole.close(graceMs),
  }
}

const sampleOf = (rollout: Rollout, index: number): Sample => ({
  id: String(index),
  prompt: '',
  groundTruth: null,
  rmPrompts: {},
  extraInfo: {},
  ...rollout,
})
