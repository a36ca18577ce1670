/** Runs every attack and prints the table: `npm run test:adversarial -- --all --only TEXT`. */
import { parseArgs } from 'node:util'
import { broken } from './bounds.ts'
import { type Cost, openTarget, type Target } from './run.ts'

const { values } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    /** Only attacks whose name holds it. */
    only: { type: 'string', default: '' },
  },
})

let target: Target | null = await openTarget()
const chosen = (await target.attacks()).filter(
  ({ name, isLong }) => (values.all || !isLong) && name.includes(values.only),
)
process.stdout.write(
  '| request | MiB | status | s | block ms | CPU s | CPU ns/byte | peak MiB | slowness |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n',
)
let [passed, failed] = [0, 0]
for (const attack of chosen) {
  target ??= await openTarget()
  try {
    let cost = await target.strike(attack)
    if (broken(cost) !== null) {
      // What earlier requests left, or another process of the machine, may have broken the bound: once more, in a new process.
      write(cost, ' (again, in a new process)')
      await target.stop()
      target = await openTarget()
      cost = await target.strike(attack)
    }
    write(cost)
    if (broken(cost) === null) passed += 1
    else failed += 1
  } catch (error) {
    failed += 1
    process.stdout.write(`| ${attack.name} | | ENDED: ${(error as Error).message.split('\n')[0]} |\n`)
    await target.stop()
    target = null
  }
}
await target?.stop()
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exitCode = failed > 0 ? 1 : 0

function write(cost: Cost, note = ''): void {
  const { name, bytes, statuses, wallMs, blockMs, cpuMs, peakMib, slowness } = cost
  const fault = broken(cost)
  const cells = [
    name,
    (bytes / 2 ** 20).toFixed(1),
    statuses.join(' '),
    (wallMs / 1000).toFixed(2),
    blockMs.toFixed(0),
    (cpuMs / 1000).toFixed(2),
    ((cpuMs * 1e6) / bytes).toFixed(0),
    peakMib.toFixed(0),
    slowness.toFixed(1),
  ]
  process.stdout.write(`| ${cells.join(' | ')} |${fault === null ? '' : ` FAILED: ${fault}${note}`}\n`)
}
