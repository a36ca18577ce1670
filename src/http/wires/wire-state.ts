import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../../clock.ts'
import { GatewayError } from '../../errors.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { openWireTruths, type Truths } from '../../wire/truths.ts'
import { openRepeats, type Repeats } from './repeats.ts'

/** What the wires hold for one reading of the configs. */
export interface WireState {
  /** By the wire's name; those that look prompts up. */
  readonly truths: ReadonlyMap<string, Truths>
  readonly repeats: Repeats
}

/**
 * The state for the configs that are served: read anew after a reload. Throws RG_CONFIG_INVALID at first; where a
 * reload's truths cannot be read, the old ones stay and the log says so.
 */
export function openWireState(gateway: Gateway, clock: Clock, log: FastifyBaseLogger): () => WireState {
  const read = ({ wires }: Gateway['settings']): WireState => ({
    truths: openWireTruths(wires),
    repeats: openRepeats(clock),
  })
  let settings = gateway.settings
  let state = read(settings)
  return () => {
    if (gateway.settings === settings) return state
    settings = gateway.settings
    try {
      state = read(settings)
    } catch (error) {
      const problems = error instanceof GatewayError ? error.problems : []
      log.error({ err: error, problems }, 'truths of a wire cannot be read; the old ones stay')
      state = { ...state, repeats: openRepeats(clock) }
    }
    return state
  }
}
