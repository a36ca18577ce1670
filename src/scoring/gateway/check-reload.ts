import { statSync } from 'node:fs'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { type CheckTarget, reloadCheck } from '../canary/reload-check.ts'
import type { GatewaySettings } from '../plan/gateway-config.ts'
import type { Plan } from '../plan/plan.ts'
import { probeOf } from './canary-of.ts'

/**
 * Throws RG_CONFIG_INVALID where `reload.samples` names rewards that are not there. Where a single rm-config was read
 * with the gateway.yaml beside it, others are not known: then nothing is said.
 */
export function checkRehearsal(
  { reload }: GatewaySettings,
  plans: ReadonlyMap<string, Plan>,
  configs: readonly string[],
): void {
  if (!configs.every((path) => statSync(path).isDirectory())) return
  const problems = Object.keys(reload?.samples ?? {})
    .filter((name) => !plans.has(name))
    .map((name) => ({
      path: `gateway.yaml: reload.samples.${name}`,
      message: `no reward '${name}'${didYouMean(name, plans.keys())}`,
    }))
  if (problems.length > 0)
    throw new GatewayError('RG_CONFIG_INVALID', 'reload.samples are of rewards that are not there', {
      problems,
    })
}

/** Rejects with RG_RELOAD_REFUSED where the samples of the configs that were read fare otherwise than they allow. */
export async function checkReload(
  next: CheckTarget & { readonly settings: GatewaySettings },
  served: CheckTarget,
  at: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const { reload } = next.settings
  if (!reload) return
  const samples = new Map(
    Object.entries(reload.samples).map(([reward, list]) => [
      reward,
      list.map((written) => {
        const { data_source, group_id } = written
        const probe = probeOf(written)
        const sample = {
          ...probe.sample,
          ...(data_source !== undefined && { dataSource: data_source }),
          ...(group_id !== undefined && { group: { id: group_id } }),
        }
        return { ...probe, sample }
      }),
    ]),
  )
  const settings = { samples, maxChange: reload.max_change ?? null, timeoutMs: reload.timeout_s * 1000 }
  const problems = await reloadCheck(settings, next, served, at)
  if (problems.length === 0) return
  const count = [...samples.values()].reduce((sum, list) => sum + list.length, 0)
  throw new GatewayError(
    'RG_RELOAD_REFUSED',
    `${problems.length} of the ${count} samples of reload.samples fare otherwise than they may; what was served stays`,
    { problems },
  )
}
