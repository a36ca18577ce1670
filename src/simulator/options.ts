import type { Clock } from '../core/clock.ts'
import type { InjectedFault } from './faults.ts'
import type { PolicyOptions } from './policies.ts'
import type { ScriptedRun } from './scripted-runs.ts'
import type { SglangFlags } from './sglang-memory.ts'

/**
 * Counts how often each question was asked. Servers share it, so that a retry on another server is another
 * attempt.
 */
export class Attempts {
  readonly #counts = new Map<number, number>()
  readonly #limit: number

  /** Beyond `limit` questions, the oldest is forgotten. */
  constructor(limit = 200_000) {
    this.#limit = limit
  }

  /** The index of this attempt, from 0. */
  next(question: number): number {
    const count = this.#counts.get(question) ?? 0
    this.#counts.set(question, count + 1)
    if (this.#counts.size > this.#limit) {
      const oldest = this.#counts.keys().next()
      if (!oldest.done) this.#counts.delete(oldest.value)
    }
    return count
  }
}

/** How a server goes down and comes back. Without times: at once. */
export interface Restart {
  /** Time of refused connections. */
  readonly downMs?: number
  /** Time of 503 replies afterwards, while it loads its weights. */
  readonly loadingMs?: number
}

/** What a server does: writes text, scores or embeds it, runs programs as SandboxFusion, or scores as a verifier. */
export const runners = ['generate', 'pooling', 'sandbox', 'service'] as const
export type Runner = (typeof runners)[number]

/** Options of a simulated model server. All have defaults. */
export interface SimulatedServerOptions extends PolicyOptions {
  /** The served model's name ('simulated-judge'). A request for any other gets 404. */
  readonly model?: string
  readonly host?: string
  /** 0, the default: any free port. */
  readonly port?: number
  /** Share of inverted verdicts, 0 to 1. The seed and the prompt determine which. */
  readonly wrongRate?: number
  /** The verdict if a policy is undecided (0). */
  readonly undecided?: number
  readonly seed?: string | number
  /** 0, the default: answers at once. */
  readonly latencyMedianMs?: number
  readonly latencySigma?: number
  /** 0.2 is five times slower. */
  readonly speed?: number
  /** Sequences that run at once (256). Others wait. */
  readonly maxNumSeqs?: number
  /** Window in tokens of four characters (32768). */
  readonly maxModelLen?: number
  /** Blocks of 16 tokens in the prefix cache (8192). 0 turns it off. */
  readonly prefixCacheBlocks?: number
  /** Milliseconds per prompt token that is not in the prefix cache (0). */
  readonly prefillMsPerToken?: number
  /** Reads prompts one after another at this rate of uncached tokens. If absent: at once. */
  readonly prefillTokensPerS?: number
  /** Milliseconds per generated token (0). */
  readonly decodeMsPerToken?: number
  /** Length of an embedding (256). */
  readonly dimensions?: number
  /** The imitated server: its endpoints, metrics and behaviour. If absent: those of both. */
  readonly engine?: 'vllm' | 'sglang'
  readonly sglang?: SglangFlags
  /** Limits the endpoints. If absent: all. */
  readonly runner?: Runner
  /** What programs print on the endpoints of SandboxFusion. If absent: nothing. */
  readonly programs?: readonly ScriptedRun[]
  /** Thinks unless `enable_thinking` is false. If absent: only if the request or the prompt asks for it. */
  readonly thinking?: boolean
  /** Puts thoughts into `reasoning_content`, like vLLM with a reasoning parser. */
  readonly reasoningParser?: boolean
  /** Ends a step for a process reward model ('<extra_0>'). */
  readonly stepTag?: string
  /** Milliseconds to fall asleep and to wake up (0). */
  readonly sleepMs?: number
  readonly faults?: readonly InjectedFault[]
  /** Each starts this long after the server's start. */
  readonly restarts?: readonly (Restart & { readonly afterMs: number })[]
  /** Serves the paths under /simulate/. */
  readonly control?: boolean
  /** Also serves those paths on their own port, even while the server is down. 0: any free port. */
  readonly controlPort?: number
  readonly clock?: Clock
  /** Shared by the servers of a fleet. If absent: the server's own. */
  readonly attempts?: Attempts
}
