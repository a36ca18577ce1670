/** Bounds the finals that all runs keep: in memory by their number, on disk by their bytes. */
import type { GatewaySettings } from '../../scoring/plan/gateway-config.ts'
import type { Kept } from './final-index.ts'
import type { RunStore } from './run-store.ts'

/** What all runs may keep together. */
export const mostKept = ({
  keep_finals,
  keep_bytes,
  max_bytes,
}: NonNullable<GatewaySettings['queue']>): Kept => ({
  finals: keep_finals,
  bytes: keep_bytes ?? Math.floor(max_bytes / 2),
})

/** Takes the oldest finals from the runs that keep most, until all together keep at most `most`. Resolves to how many it took. */
export async function boundFinals(stores: readonly RunStore[], most: Kept): Promise<number> {
  const level: Kept = {
    finals: levelOf(
      stores.map(({ state }) => state.kept),
      most.finals,
    ),
    bytes: levelOf(
      stores.map(({ state }) => state.keptBytes),
      most.bytes,
    ),
  }
  let taken = 0
  for (const store of stores) taken += await store.keepAtMost(level)
  return taken
}

/** The amount to which those that have more come down, so that all together have at most `most`. */
function levelOf(amounts: readonly number[], most: number): number {
  let left = most
  for (const [at, amount] of [...amounts].sort((one, other) => one - other).entries()) {
    const level = left / (amounts.length - at)
    if (amount > level) return level
    left -= amount
  }
  return Number.POSITIVE_INFINITY
}
