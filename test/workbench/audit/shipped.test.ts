import t from 'tap'
import { auditShipped } from './shipped-audit.ts'
import { shippedRewards } from './shipped-rewards.ts'

/** A part of `npm run audit:shipped`, whose table stands in docs/security.md. */
const chosen = [
  'gsm8k',
  'numeric-match',
  'choice-match',
  'search-em',
  'math-boxed',
  'clrs',
  'countdown',
  'tool-call',
]
const [mostPaid, mostRefused] = [0.01, 0.005]

t.test(
  'of the attacks of the audit, shipped rules pay few, and refuse few rewrites of right answers',
  async (t) => {
    const rewards = shippedRewards.filter(({ name }) => chosen.includes(name))
    t.equal(rewards.length, chosen.length, 'each is there')
    for await (const { shipped, inside, rewrites, unpaid } of auditShipped(rewards, {
      budget: 1000,
      seed: 1,
    })) {
      const { name } = shipped
      const paid = inside.filter(({ paidInFull }) => paidInFull).length
      const refused = rewrites.filter((one) => one.refused).length
      t.ok(inside.length >= 100, `${name}: ${inside.length} attacks`)
      t.equal(unpaid, 0, `${name}: right answers are paid`)
      t.ok(paid <= mostPaid * inside.length, `${name}: ${paid} of ${inside.length} attacks are paid`)
      t.ok(
        refused <= mostRefused * rewrites.length,
        `${name}: ${refused} of ${rewrites.length} rewrites are refused`,
      )
    }
  },
)
