import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { MaybePromise } from '../../../core/slices.ts'
import type { Gateway } from '../../../scoring/gateway/gateway.ts'
import { type GroundTruthIndex, openWireTruths } from '../../../trainers/ground-truth-index.ts'
import { openRepeats, type Repeats } from './repeats.ts'

/** What the wires hold for one reading of the configs. */
export interface WireState {
  /** By the wire's name; those that look prompts up. */
  readonly truths: ReadonlyMap<string, GroundTruthIndex>
  readonly repeats: Repeats
}

/**
 * The state for the configs that are served. The first request after a reload begins to read it anew, and those that
 * come meanwhile wait for it. Rejects with RG_CONFIG_INVALID at first; where a reload's truths cannot be read, the old
 * ones stay and the log says so.
 */
export async function openWireState(
  gateway: Gateway,
  clock: Clock,
  log: FastifyBaseLogger,
): Promise<() => MaybePromise<WireState>> {
  const read = async ({ trainers }: Gateway['settings']): Promise<WireState> => ({
    truths: await openWireTruths(trainers),
    repeats: openRepeats(clock),
  })
  let { settings } = gateway
  let truths: WireState['truths']
  let state: MaybePromise<WireState> = await read(settings)
  truths = state.truths
  const readAgain = async (): Promise<WireState> => {
    try {
      const next = await read(settings)
      truths = next.truths
      return next
    } catch (error) {
      const problems = error instanceof GatewayError ? error.problems : []
      log.error({ err: error, problems }, 'truths of a wire cannot be read; the old ones stay')
      return { truths, repeats: openRepeats(clock) }
    }
  }
  return () => {
    if (gateway.settings === settings) return state
    settings = gateway.settings
    const reading = readAgain()
    state = reading
    void reading.then((read) => {
      if (state === reading) state = read
    })
    return state
  }
}
