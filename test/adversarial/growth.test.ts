/** What a row costs does not grow with the rows of its request, whatever stands in them. */
import t from 'tap'
import { cheapRule, openTarget } from './run.ts'

const target = await openTarget(cheapRule)
t.teardown(() => target.stop())

const [few, many] = [1000, 8000]
/** Of the processor time of a row among many to that of a row among few: 1 where the cost is linear, 8 where it is quadratic. A cache that holds few rows and not many accounts for the rest. */
const mostGrowth = 2
const tries = 4

const native = (row: (index: number) => string, reward = 'rule') => ({
  path: '/v1/score',
  body: (count: number) =>
    `{"reward":"${reward}","samples":[${Array.from({ length: count }, (_, index) => row(index)).join(',')}]}`,
})
const columns = (label: string) => ({
  path: '/wire/openrlhf/rule',
  body: (count: number) =>
    `{"query":[${'"a \\\\boxed{1}",'.repeat(count).slice(0, -1)}],"labels":[${`${label},`.repeat(count).slice(0, -1)}]}`,
})
const row = (more = '') => `{"prompt":"q","response":"\\\\boxed{1}","ground_truth":"1"${more}}`

const kinds = {
  'plain rows': native(() => row()),
  'rows with a NaN each': native(() => row(',"extra_info":{"a":NaN}')),
  'rows with a too long integer each': native(() => row(',"extra_info":{"a":98765432109876543210}')),
  'rows of one group': native(() => row(`,"group_id":1,"group_size":${many}`)),
  'rows in groups of two': native((index) => row(`,"group_id":${index >> 1},"group_size":2`)),
  'rows of one group with an index each': native((index) => row(`,"group_id":1,"group_index":${index}`)),
  'rows that are retries of one': native(() => row(',"group_id":1,"group_index":0')),
  'unreadable rows': native(() => '{"response":5}'),
  'rows of messages': native(
    () => '{"prompt":[{"role":"user","content":"q"}],"response":"\\\\boxed{1}","ground_truth":"1"}',
  ),
  'rows with the same id': native(() => row(',"id":"one"')),
  'columns with null labels': columns('null'),
  'columns with NaN labels': columns('NaN'),
} as const

for (const [name, { path, body }] of Object.entries(kinds))
  t.test(`the cost of ${name} is linear (M3)`, async (t) => {
    const costOf = async (count: number): Promise<number> => {
      const bytes = Buffer.from(body(count))
      const { cpuMs, problem } = await target.strike({ name, path, body: () => bytes, statuses: [200, 502] })
      if (problem !== null) t.fail(problem)
      return cpuMs / count
    }
    // The first request of a kind is compiled, and a busy machine makes one dearer: the least of some tries counts.
    for (let warmedUp = 0; warmedUp < 2; warmedUp++) await costOf(few)
    let least = Number.POSITIVE_INFINITY
    for (let tried = 0; tried < tries && least > mostGrowth; tried++) {
      const small = (await costOf(few)) + (await costOf(few))
      least = Math.min(least, (2 * (await costOf(many))) / small)
    }
    t.ok(least <= mostGrowth, `${least.toFixed(2)} times the cost of a row`)
  })
