import type { Clock } from '../clock.ts'
import type { Attempts } from './attempts.ts'
import type { Fault } from './faults.ts'
import type { PolicyOptions } from './policies/named.ts'

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
  /** Length of an embedding (256). */
  readonly dimensions?: number
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
  readonly faults?: readonly Fault[]
  /** Serves POST /simulate/faults and GET /simulate/stats. */
  readonly control?: boolean
  readonly clock?: Clock
  /** Shared by servers of one fleet; absent: the server's own. */
  readonly attempts?: Attempts
}
