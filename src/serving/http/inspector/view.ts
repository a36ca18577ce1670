import { withoutSecrets } from '../../../core/secrets.ts'
import type { ObservedGateway } from '../../observed-gateway.ts'
import type { Live } from '../../telemetry/live/live.ts'
import { shownReward } from '../../telemetry/live/shown-series.ts'
import { historyOf } from '../../telemetry/monitors/history.ts'
import { statsOf } from '../../telemetry/monitors/stats.ts'
import type { PoolStatus, Scored, Served, ServedReward } from './messages.ts'
import { shownModel } from './shown-model.ts'

type Plan = ReturnType<ObservedGateway['rewards']>[number]

/** Rows of the first message and of later ones. */
const rowsAtFirst = 400
const rowsATick = 48

/** What the page knows for as long as the configs stay as they are. */
export function servedView(gateway: ObservedGateway, live: Live): Served {
  return {
    version: gateway.version,
    text: live.policy,
    has_admin: gateway.keys.has('admin'),
    rewards: withoutSecrets(gateway.rewards().map(writePlan)) as ServedReward[],
  }
}

/** Equal as long as the same configs are served. */
export const servedMark = (gateway: ObservedGateway, live: Live): string =>
  [live.policy, ...gateway.rewards().map(({ name, version }) => `${name} ${version}`)].join('\n')

/** How everything stands: pools, runs with their figures, alarms. */
export function standingView(gateway: ObservedGateway): PoolStatus {
  return {
    in_flight: gateway.inFlight,
    models: gateway.models().map(shownModel),
    runs: gateway.runs().map((run) => ({ reward: run.reward, ...statsOf(run), ...historyOf(run) })),
    missing: gateway.missing(),
    suspects: gateway.suspects(),
  }
}

/** What was scored after `since`: slots that it touched, and rows after a serial. 0 and 0: everything that is kept. */
export function scoredView(live: Live, since: number, serial: number): Scored {
  const now = live.now()
  const rows = live.summaries(serial, since === 0 ? rowsAtFirst : rowsATick)
  return {
    now,
    rewards: Object.fromEntries(
      [...live.rewards].map(([name, tracked]) => [name, shownReward(tracked, now, since)]),
    ),
    rows,
  }
}

const writePlan = ({ name, version, description, gate, formula, arithmetic, steps }: Plan): ServedReward => ({
  name,
  version,
  description,
  gate: gate?.source ?? null,
  formula: formula?.source ?? null,
  arithmetic,
  steps: steps.map((step) => ({
    name: step.name,
    function: step.function.name,
    kind: step.kind,
    models: step.models,
    op: step.op,
    weight: step.weight(undefined),
    range: step.function.range.map((end) => (Number.isFinite(end) ? end : null)),
    when: step.when?.source ?? null,
    gated: step.gated,
  })),
})
