import type { Json, Sample } from '../../core/sample/sample.ts'
import { type Canary, type CanaryParts, openCanary } from '../canary/canary.ts'
import type { Probe } from '../canary/probes.ts'
import type { KnownSample } from '../plan/canary-config.ts'
import type { GatewaySettings } from '../plan/gateway-config.ts'

/** The canaries that the settings ask for; null: none. */
export function canaryOf({ canary }: GatewaySettings, parts: CanaryParts): Canary | null {
  if (!canary) return null
  const { every_s, timeout_s, wrong_rounds, max_unreadable, eject, probes } = canary
  return openCanary(
    {
      everyMs: every_s * 1000,
      timeoutMs: timeout_s * 1000,
      wrongRounds: wrong_rounds,
      maxUnreadable: max_unreadable,
      eject,
      probes: new Map(Object.entries(probes).map(([name, list]) => [name, list.map(probeOf)])),
    },
    parts,
  )
}

/** A known sample of the configs as the engine takes it, with its bounds. */
export function probeOf(written: KnownSample): Probe {
  const { name, prompt, response, ground_truth, rm_prompt, extra_info } = written
  const sample: Sample = {
    id: `canary ${name}`,
    prompt,
    response,
    groundTruth: (ground_truth ?? null) as Json,
    rmPrompts: {},
    extraInfo: extra_info as Readonly<Record<string, Json>>,
    ...(rm_prompt !== undefined && { rmPrompt: rm_prompt }),
  }
  return {
    name,
    sample,
    min: written.min ?? Number.NEGATIVE_INFINITY,
    max: written.max ?? Number.POSITIVE_INFINITY,
  }
}
