import type { Outcome, Sample } from './core/sample/sample.ts'
import { openObservedGateway } from './serving/observed-gateway.ts'

/** One rollout to be scored; what is absent is empty. `id` is its index in the request where there is none. */
export interface Rollout extends Partial<Sample> {
  readonly response: string
}

/** Where the rewards are defined. Reads what is named here, and nothing else. */
export interface GatewayOptions {
  /** Files and folders: rm-configs, and gateway.yaml with the models and limits that they share. */
  readonly configs: readonly string[]
  /** Folders of your own reward functions, beside the package's and those that gateway.yaml names. */
  readonly functionFolders?: readonly string[]
  /** What `${NAME}` in configs stands for; the environment of the process if absent. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Rollouts to be scored by one reward, each for itself but for steps that compare the answers of a group. */
export interface ScoreJob {
  /** The reward's name: its file's without the ending, or its `name:`. */
  readonly reward: string
  readonly rollouts: readonly Rollout[]
  /** Ends the work when nobody waits for it any more; what is not done fails as `cancelled`. */
  readonly signal?: AbortSignal
  /** Milliseconds from here; the shorter one of this and the config's `deadline_s` holds. */
  readonly deadlineMs?: number
  /** Names the training run in records and monitors. */
  readonly run?: string
  /** For weights that change with it. */
  readonly trainingStep?: number
  /**
   * Called once a rollout, as soon as its outcome is final; in any order. What it throws is a warning of the process. It
   * gets a copy: neither that nor what it changes touches an outcome.
   */
  readonly onOutcome?: (index: number, outcome: Outcome) => void
}

/** What became of a job. */
export interface Scored {
  /** One a rollout, in their order: a finite reward, or the failure that left none. */
  readonly outcomes: readonly Outcome[]
  /** A hash of the config and the functions that scored all of them. */
  readonly version: string
}

/** An open gateway: worker threads and connections live until `close`. */
export interface Gateway {
  /** Names of the rewards, in the order of their configs. */
  readonly rewards: readonly string[]
  /**
   * Rejects where the whole job is refused: RG_REWARD_UNKNOWN, RG_OVERLOADED (later it may be taken), RG_CLOSING, and
   * RG_SAMPLES_FAILED where the reward says `on_invalid: fail`. Else every rollout has an outcome.
   */
  score(job: ScoreJob): Promise<Scored>
  /** Models that no server answers for at the moment; empty where every reward can be scored. */
  missing(): readonly string[]
  /** Reads configs and functions again. Rejects on any mistake, and the old ones stay; jobs under way end with them. */
  reload(): Promise<void>
  /** Refuses what comes from here on, waits at most `graceMs` (`shutdown.grace_s`) for what is under way, and ends all threads. */
  close(graceMs?: number): Promise<void>
}

/**
 * Opens workers and models, or rejects with RG_CONFIG_INVALID or RG_FUNCTION_INVALID and all mistakes as `problems`.
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
