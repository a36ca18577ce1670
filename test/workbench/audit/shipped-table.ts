/** Audits every shipped rule on example rows and prints the table: `npm run audit:shipped -- --only NAME`. */
import { parseArgs } from 'node:util'
import { auditShipped, type ShippedAudit } from './shipped-audit.ts'
import { shippedRewards } from './shipped-rewards.ts'

const { values } = parseArgs({
  options: {
    /** Only functions whose name holds it. */
    only: { type: 'string', default: '' },
    budget: { type: 'string', default: '6000' },
    seed: { type: 'string', default: '1' },
    /** Also prints every class that was paid or refused, and examples. */
    show: { type: 'boolean', default: false },
  },
})

const chosen = shippedRewards.filter(({ name }) => name.includes(values.only))
process.stdout.write(
  '| function | attacks tried | paid | contradicted outside the place | paid | rewrites of right answers | refused | s |\n',
)
process.stdout.write('| --- | --- | --- | --- | --- | --- | --- | --- |\n')
for await (const found of auditShipped(chosen, { budget: Number(values.budget), seed: Number(values.seed) }))
  line(found)

function line({ shipped, inside, outside, rewrites, unpaid, forms, seconds }: ShippedAudit): void {
  const paid = inside.filter(({ paidInFull }) => paidInFull)
  const contradicted = outside.filter(({ paidInFull }) => paidInFull)
  const refused = rewrites.filter((one) => one.refused)
  const share = (part: number, all: number) => `${part} (${((100 * part) / Math.max(1, all)).toFixed(1)} %)`
  process.stdout.write(
    `| \`${shipped.name}\` | ${inside.length} | ${share(paid.length, inside.length)} | ${outside.length} | ${share(contradicted.length, outside.length)} | ${rewrites.length} | ${share(refused.length, rewrites.length)} | ${seconds.toFixed(1)} |${unpaid > 0 ? ` ${unpaid} right answers are not paid` : ''}\n`,
  )
  if (!values.show) return
  process.stdout.write(`  forms ${JSON.stringify(forms)}\n`)
  tell(
    'paid',
    [...paid, ...contradicted].map(({ attack, response }) => [attack.id, response]),
  )
  tell(
    'refused',
    refused.map(({ id, response }) => [id, response]),
  )
}

/** Each class with the end of one text. */
function tell(what: string, found: readonly (readonly [id: string, response: string])[]): void {
  const texts = new Map<string, string[]>()
  for (const [id, response] of found) texts.set(id, [...(texts.get(id) ?? []), response])
  for (const [id, [first = '', ...more]] of texts)
    process.stdout.write(`  ${what} ${id} x${more.length + 1}: ${JSON.stringify(first.slice(-200))}\n`)
}
