import t from 'tap'
import { parseJsonBytes } from '../../../src/core/json/text.ts'
import { readNativeRows } from '../../../src/trainers/native.ts'
import { cpuMs } from '../../support/cpu.ts'
import { hostileBodies } from '../../support/hostile-bodies.ts'
import { turnsOf } from '../../support/turns.ts'
import { isWithin } from '../../support/yardstick.ts'

const limits = { rows: ['samples'], maxValues: 50_000, maxRows: 65_536, hasLongLists: true }
const most = 100

const readAnyway = async (bytes: Buffer): Promise<void> => {
  await (async () => parseJsonBytes(bytes, limits))().catch(() => {})
}
const readTurns = (bytes: Buffer) => turnsOf(most, () => readAnyway(bytes))
const readCpuMs = async (bytes: Buffer): Promise<number> => {
  const began = cpuMs()
  await readAnyway(bytes)
  return cpuMs() - began
}

/** Bodies of many equal rows, which cost seconds at full length: a quarter of one is read in tens of slices already. */
const costly: ReadonlySet<string> = new Set([
  'rows of 15,000 lists',
  'rows of 20,000 names',
  'depth of many rows',
])

t.test('any body is read in slices and in linear time (M4)', async (t) => {
  // Half of what a gateway takes, and less where V8 counts coverage; `npm run test:adversarial` sends one the whole.
  const length = process.env.NODE_V8_COVERAGE === undefined ? 1 << 23 : 1 << 22
  const [whole, quarters, sixteenths] = [length, length / 4, length / 16].map(hostileBodies)
  for (const name of Object.keys(whole ?? {})) {
    const [bodies, parts] = costly.has(name) ? [quarters, sixteenths] : [whole, quarters]
    const { ms, cpuMs: wholeMs } = await readTurns(Buffer.from(bodies?.[name] ?? ''))
    const quarterMs = await readCpuMs(Buffer.from(parts?.[name] ?? ''))
    t.comment(
      `${name}: ${ms.toFixed()} ms at a time, ${wholeMs.toFixed()} ms in all, ${quarterMs.toFixed()} of a quarter`,
    )
    t.ok(ms < most, `${name}: ${ms} ms at a time`)
    t.ok(isWithin(wholeMs - 8 * quarterMs, 200), `${name}: ${wholeMs} ms, and a quarter of it ${quarterMs}`)
  }
})

t.test('NaN in every row costs linear time (M3)', async (t) => {
  const read = (rows: number) => {
    const row = '{"prompt":"q","response":"r","ground_truth":NaN,"extra_info":{"a":NaN,"b":[1,NaN]}}'
    const bytes = Buffer.from(
      `{"reward":"r","samples":[${Array.from({ length: rows }, () => row).join(',')}]}`,
    )
    return turnsOf(most, async () => {
      const { value, literals } = await parseJsonBytes(bytes, limits)
      const { samples } = value as { samples: unknown[] }
      const read = await readNativeRows(samples, literals)
      t.ok(
        read.length === rows && read.every((one) => 'flags' in one && one.flags?.[0] === 'non_finite_input'),
      )
    })
  }
  const [small, large] = [await read(16_384), await read(65_536)]
  t.comment(
    `${large.ms.toFixed()} ms at a time, ${large.cpuMs.toFixed()} ms in all, ${small.cpuMs.toFixed()} of a quarter`,
  )
  t.ok(large.ms < most)
  t.ok(isWithin(large.cpuMs - 8 * small.cpuMs, 200), `${large.cpuMs} ms, and a quarter of it ${small.cpuMs}`)
})

t.test('bodies that arrive together share the slices of a turn (M4)', async (t) => {
  const body = Buffer.from(hostileBodies(1 << 19)['rows of 15,000 lists'] ?? '')
  const { ms } = await turnsOf(most, async () => {
    await Promise.all(Array.from({ length: 16 }, async () => parseJsonBytes(body, limits)))
  })
  t.ok(ms < most, `${ms} ms at a time`)
})
