import { openObservedGateway } from '../../../src/serving/observed-gateway.ts'
import { type Audited, audit } from '../../../src/workbench/audit/audit.ts'
import { attacks } from '../../../src/workbench/audit/catalogue/attacks.ts'
import { knownAnswers } from '../../../src/workbench/dataset/samples.ts'
import type { ShippedReward } from './shipped-rewards.ts'

/** What the audit found in one shipped function, without what its contract allows. */
export interface ShippedAudit {
  readonly shipped: ShippedReward
  /** Attacks in the place of the answer, and those that contradict it outside. */
  readonly inside: Audited['trials']
  readonly outside: Audited['trials']
  readonly rewrites: NonNullable<Audited['searched']>['rewrites']
  /** Right answers that are not paid as they are. */
  readonly unpaid: number
  readonly forms: unknown
  readonly seconds: number
}

/** Audits functions one after the other, each on its example rows. */
export async function* auditShipped(
  chosen: readonly ShippedReward[],
  search: { readonly budget: number; readonly seed: number },
): AsyncGenerator<ShippedAudit> {
  const gateway = await openObservedGateway({
    configs: [],
    inline: chosen.map(({ function: name, options = {} }, at) => ({
      file: `reward-${at}.json`,
      text: JSON.stringify({ steps: [{ name: 'rule', function: name, options }] }),
    })),
    functionFolders: [],
    env: {},
    secret: 'table',
  })
  try {
    for (const [at, shipped] of chosen.entries()) {
      const { name, rows, accept = {} } = shipped
      const known = rows.map((row, index) => {
        const answers = knownAnswers({ value: row, literals: [] }, index, [], null)
        if (typeof answers === 'string') throw new Error(`${name}: row ${index + 1}: ${answers}`)
        return answers
      })
      const started = performance.now()
      const found = await audit(gateway, {
        reward: `reward-${at}`,
        rows: known,
        signal: new AbortController().signal,
        attacks: attacks.filter(({ against }) => against === 'rule'),
        search,
      })
      const isAccepted = ({ id, family }: { readonly id: string; readonly family: string }) =>
        id in accept || family in accept
      const trials = found.trials.filter(({ attack }) => !isAccepted(attack))
      yield {
        shipped,
        inside: trials.filter(({ attack }) => !attack.isOutside),
        outside: trials.filter(({ attack }) => attack.isOutside),
        rewrites: found.searched?.rewrites.filter((one) => !isAccepted(one)) ?? [],
        unpaid: found.baselines.filter(({ isPaid }) => !isPaid).length,
        forms: found.searched?.forms,
        seconds: (performance.now() - started) / 1000,
      }
    }
  } finally {
    await gateway.close(0)
  }
}
