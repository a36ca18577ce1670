import t from 'tap'
import { withLog } from '../../src/cli/log-events.ts'
import { GatewayError } from '../../src/errors.ts'

interface Line {
  readonly level: string
  readonly told: unknown
  readonly text: string
}

/** A log that keeps its lines. */
function keptLog() {
  const lines: Line[] = []
  const at = (level: string) => (told: unknown, text: string) => void lines.push({ level, told, text })
  return { lines, log: { info: at('info'), warn: at('warn'), error: at('error') } as never }
}

t.test('slow samples get a line each, the slowest first, five a request, without texts', async (t) => {
  const { lines, log } = keptLog()
  let limit: number | undefined = 1
  const { engine } = withLog(
    {},
    () => log,
    () => limit,
  )
  const valid = { id: 'SECRET', valid: true, reward: 1, terms: [], flags: [] }
  const failure = { kind: 'judge_timeout', retryable: true, step: 'judge', detail: 'SECRET' }
  const failed = { id: 'SECRET', valid: false, failure, substitute: null, terms: [], flags: [] }
  const ms = [900, 1200, 5000, 1000, 2000, 3000, 4000, 1500]
  const done = {
    plan: { name: 'demo' },
    requestId: 'req',
    run: 'a',
    trainingStep: null,
    rows: ms.map(() => ({ id: 'SECRET', prompt: 'SECRET', response: 'SECRET' })),
    outcomes: ms.map((took) => (took === 5000 ? failed : valid)),
    ms: Float64Array.from(ms),
  } as never
  engine?.done?.(done)
  t.strictSame(
    lines.map(({ level, told }) => [level, (told as { row: number }).row]),
    [2, 6, 5, 4, 7].map((row) => ['warn', row]),
  )
  t.strictSame(lines[0]?.told, {
    reqId: 'req',
    reward: 'demo',
    run: 'a',
    row: 2,
    ms: 5000,
    slow: 6,
    failure: 'judge_timeout',
    step: 'judge',
  })
  t.notMatch(JSON.stringify(lines), /SECRET/)
  limit = undefined
  engine?.done?.(done)
  t.equal(lines.length, 5, 'without a limit there are none')
})

t.test('a refused reload says every mistake with its place, and is counted', async (t) => {
  const { lines, log } = keptLog()
  const counted: unknown[] = []
  const { reloads } = withLog({ reloads: { ended: (refusal) => void counted.push(refusal) } }, () => log)
  const problems = [{ path: 'one.yaml:1:1', message: 'no steps' }]
  const refusal = new GatewayError('RG_CONFIG_INVALID', 'a config cannot be read', { problems })
  reloads?.ended?.(refusal)
  reloads?.ended?.(null)
  t.match(lines, [
    { level: 'error', told: { code: 'RG_CONFIG_INVALID', problems }, text: /what was served stays/ },
    { level: 'info', told: /reloaded/ },
  ])
  t.strictSame(counted, [refusal, null])
})
