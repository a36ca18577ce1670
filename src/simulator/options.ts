import type { Clock } from '../core/clock.ts'
import type { InjectedFault } from './faults.ts'
import type { PolicyOptions } from './policies.ts'
import type { SglangFlags } from './sglang-memory.ts'

/** How often each question was asked. One for several servers, so that a retry elsewhere is another attempt. */
export class Attempts {
  readonly #counts = new Map<number, number>()
  readonly #limit: number

  /** Forgets the question that has waited longest since it was first asked, beyond `limit` of them. */
  constructor(limit = 200_000) {
    this.#limit = limit
  }

  /** The index, from 0, of this asking. */
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

/** How a server goes away and comes back; without times, at once. */
export interface Restart {
  /** Refuses connections so long. */
  readonly downMs?: number
  /** Then answers 503 so long, as one that loads its weights. */
  readonly loadingMs?: number
}

/** What a simulated model server is started with; everything has a default. */
export interface SimulatedServerOptions extends PolicyOptions {
  /** The served model's name ('simulated-judge'). A request for any other is 404. */
  readonly model?: string
  readonly host?: string
  /** 0, the default: a free one. */
  readonly port?: number
  /** Share of verdicts turned round, 0 to 1; which ones is a fact about seed and prompt. */
  readonly wrongRate?: number
  /** The verdict where a policy has nothing to go by (0). */
  readonly undecided?: number
  readonly seed?: string | number
  /** 0, the default, answers at once. */
  readonly latencyMedianMs?: number
  readonly latencySigma?: number
  /** 0.2 is five times slower. */
  readonly speed?: number
  /** Sequences that run at once (256); others wait. */
  readonly maxNumSeqs?: number
  /** Window in tokens of four characters (32768). */
  readonly maxModelLen?: number
  /** Blocks of 16 tokens in the prefix cache (8192); 0 turns it off. */
  readonly prefixCacheBlocks?: number
  /** Milliseconds for each prompt token that the prefix cache lacks (0). */
  readonly prefillMsPerToken?: number
  /** Reads prompts one after another, so many of their tokens a second that the prefix cache lacks; absent: at once. */
  readonly prefillTokensPerS?: number
  /** Milliseconds for each token that a sequence writes (0). */
  readonly decodeMsPerToken?: number
  /** Length of an embedding (256). */
  readonly dimensions?: number
  /** Which server it stands for: its endpoints, metrics and ways alone; absent: those of both. */
  readonly engine?: 'vllm' | 'sglang'
  readonly sglang?: SglangFlags
  /** Which endpoints exist; absent: all. */
  readonly runner?: 'generate' | 'pooling'
  /** Thinks unless `enable_thinking` is false; absent: only where the request or the prompt asks for it. */
  readonly thinking?: boolean
  /** Puts thoughts into `reasoning_content`, as a vLLM with a reasoning parser. */
  readonly reasoningParser?: boolean
  /** Ends a step for a process reward model ('<extra_0>'). */
  readonly stepTag?: string
  /** Milliseconds that falling asleep and waking take (0). */
  readonly sleepMs?: number
  readonly faults?: readonly InjectedFault[]
  /** Each begins so long after the start. */
  readonly restarts?: readonly (Restart & { readonly afterMs: number })[]
  /** Serves the paths under /simulate/. */
  readonly control?: boolean
  /** Serves those paths at a port of their own, too, which goes on while the server is down; 0: a free one. */
  readonly controlPort?: number
  readonly clock?: Clock
  /** Shared by servers of one fleet; absent: the server's own. */
  readonly attempts?: Attempts
}
