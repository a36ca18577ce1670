import type { FastifyBaseLogger } from 'fastify'
import { systemClock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { openWireTruths, type Truths } from '../wire/truths.ts'
import { type HeldGroups, openHeldGroups } from './held-groups.ts'
import { openRepeats, type Repeats } from './repeats.ts'

/** What the wires hold for one reading of the configs. */
export interface WireState {
  /** By the wire's name; those that look prompts up. */
  readonly truths: ReadonlyMap<string, Truths>
  readonly repeats: Repeats
  /** The same over reloads: answers that wait keep waiting. */
  readonly held: HeldGroups
}

/**
 * The state for the configs that are served: read anew after a reload. Throws RG_CONFIG_INVALID at first; where a
 * reload's truths cannot be read, the old ones stay and the log says so.
 */
export function openWireState(gateway: Gateway, log: FastifyBaseLogger): () => WireState {
  const held = openHeldGroups(systemClock)
  const read = ({ wires }: Gateway['settings']): WireState => ({
    truths: openWireTruths(wires),
    repeats: openRepeats(systemClock),
    held,
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
      state = { ...state, repeats: openRepeats(systemClock) }
    }
    return state
  }
}
