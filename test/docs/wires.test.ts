import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { gatewayConfig } from '../../src/plan/gateway-config.ts'
import { wires } from '../../src/wire/index.ts'

const page = readFileSync(join('docs/wires.md'), 'utf8')
const section = (heading: string) => page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
const rows = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.slice(2, -2).split(' | '))

t.test('the page has every wire with its deadline and its way of saying invalid', async (t) => {
  const wanted = wires.map(({ name, deadlineS, routes }) => [
    `\`${name}\``,
    String(deadlineS ?? 'none'),
    [...new Set(Object.values(routes).map(({ invalid }) => invalid))].join(' '),
  ])
  const said = rows(section('Deadlines, invalid samples, retries')).map(
    ([name, deadline, , invalid = '']) => [name, deadline, invalid.match(/\b(?:number|told)\b/g)?.join(' ')],
  )
  t.strictSame(said, wanted)
})

t.test('every address on the page is served, and every path of a wire is on the page', async (t) => {
  for (const { name, routes, fixed = {} } of wires) {
    const row = page.split('\n').find((line) => line.includes(`/wire/${name}/{reward}`)) ?? ''
    for (const path of [...Object.keys(routes), ...Object.keys(fixed)]) {
      const isSaid = row.includes(`/wire/${name}/{reward}${path}`) || row.includes(`\`${path}\``)
      if (!['/test_program_stdio', '/reward'].includes(path) && name !== 'axolotl')
        t.ok(isSaid, `${name}: ${path}`)
    }
  }
})

t.test('the settings of wires are on the page, and each wire can be set', async (t) => {
  const { wires: schema } = gatewayConfig.shape
  const shapes = Object.entries(schema.unwrap().shape)
  t.strictSame(shapes.map(([name]) => name).sort(), wires.map(({ name }) => name).sort())
  const keys = new Set(shapes.flatMap(([, shape]) => Object.keys(shape.unwrap().shape)))
  t.strictSame(
    rows(section('Settings')).map(([key]) => key?.replaceAll('`', '')),
    [...keys],
  )
})

t.test("Open-Instruct's deadline lies below what its client waits for such a request", async (t) => {
  const { read } = wires.find(({ name }) => name === 'open-instruct')?.routes[''] ?? {}
  const deadlineOf = (max_execution_time: number) =>
    read?.({ body: { program: '', max_execution_time }, query: {}, oddities: [], truths: null }).deadlineMs
  t.strictSame([0.1, 1, 10, 1000].map(deadlineOf), [28_000, 28_000, 98_000, 298_000])
})
