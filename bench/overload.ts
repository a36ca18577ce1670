/**
 * Three times as much as two judges can bear, for a minute: `jiti bench/overload.ts [--seconds 60] [--out FILE]`. What
 * comes through, how quickly the rest is refused, memory and processor time of the gateway, and how soon it is as before.
 */
import { appendFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { startGateway, startSimulatedJudge } from './measured-process.ts'
import { closedLoop, openLoop, type Sent } from './open-loop.ts'
import { prose } from './prose.ts'
import { quantile } from './quantile.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, out: { type: 'string' } },
})
const seconds = Number(values.seconds)
/** Half of the peak follows for so long. */
const calmSeconds = 15
const judges = [18_481, 18_482]

let serial = 0
const body = (): string => {
  const prompt = `How many apples are there on day ${serial++}?`
  return JSON.stringify({
    reward: 'overload',
    samples: [{ prompt, response: `${prose(2000)}#### ${serial}` }],
  })
}

const msOf = (sent: readonly Sent[], kind: Sent['kind']): readonly number[] =>
  sent.filter((one) => one.kind === kind).map(({ ms }) => ms)
const told = (ms: readonly number[]): string =>
  [0.5, 0.99, 1].map((share) => quantile(ms, share).toFixed(0)).join(' / ')

const lines: string[] = []
const say = (line: string): void => {
  console.log(line)
  lines.push(line)
}

/** The second from which on every second's latencies are as they were; null: none is. */
function calmFrom(after: readonly Sent[], normal: readonly number[]): number | null {
  const [p50, p99] = [quantile(normal, 0.5), quantile(normal, 0.99)]
  let calm: number | null = null
  for (let second = 0; second < calmSeconds; second++) {
    const sent = after.filter(({ at }) => Math.floor(at / 1000) === second + seconds)
    const ms = msOf(sent, 'scored')
    const isCalm =
      ms.length === sent.length && quantile(ms, 0.5) <= p50 * 1.15 && quantile(ms, 0.95) <= p99 * 1.15
    calm = isCalm ? (calm ?? second) : null
  }
  return calm
}

const shape = ['--max-num-seqs', '16', '--latency-median-ms', '200', '--latency-sigma', '0.3']
const processes = await Promise.all(
  judges.map((port) => startSimulatedJudge(port, [...shape, '--seed', String(port)])),
)
const addresses = Object.fromEntries(processes.map((judge, i) => [`JUDGE_${i}`, judge.url]))
const gateway = await startGateway('bench/configs/overload.yaml', 18_480, addresses)
const { url } = gateway
try {
  say(`${cpus().length} x ${cpus()[0]?.model}, node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`)
  await openLoop({ url, body, perSecond: () => 60, seconds: 5 })
  const peak = await closedLoop({ url, body, callers: 64, seconds: 15 })
  const calm = await openLoop({ url, body, perSecond: () => peak / 2, seconds: 15 })
  const normal = msOf(calm.sent, 'scored')
  say(`peak goodput ${peak.toFixed(1)} samples/s; latency at half of it, p50 / p99 / max: ${told(normal)} ms`)

  const memory = [gateway.rssMib()]
  const cpu = gateway.cpuSeconds()
  let used = 0
  const watch = setInterval(() => {
    memory.push(gateway.rssMib())
    if (memory.length === seconds) used = gateway.cpuSeconds() - cpu
  }, 1000)
  const perSecond = (second: number) => (second < seconds ? peak * 3 : peak / 2)
  const { sent: all, stoodStillMs } = await openLoop({ url, body, perSecond, seconds: seconds + calmSeconds })
  clearInterval(watch)
  const sent = all.filter(({ at }) => at < seconds * 1000)
  const inTime = all.filter(({ kind, at, ms }) => kind === 'scored' && at + ms < seconds * 1000)
  const refused = sent.filter(({ kind }) => kind === 'refused')
  const others = all.filter(({ kind }) => kind === 'other')
  const goodput = inTime.length / seconds
  const busy = (100 * used) / seconds
  say(
    `${seconds} s of ${(sent.length / seconds).toFixed(1)} samples/s, the gateway at ${busy.toFixed(0)} % of a core`,
  )
  say(
    `  scored ${goodput.toFixed(1)}/s, ${((100 * goodput) / peak).toFixed(1)} % of the peak, in ${told(msOf(sent, 'scored'))} ms`,
  )
  const silent = refused.filter(({ hasRetryAfter }) => !hasRetryAfter)
  say(
    `  refused ${(refused.length / seconds).toFixed(1)}/s in ${told(msOf(sent, 'refused'))} ms, ${silent.length} of them without Retry-After`,
  )
  say(
    `  neither scored nor refused: ${others.length}; the generator stood still for ${stoodStillMs.toFixed(0)} ms at most`,
  )
  const most = [0, 1, 2].map((third) => {
    const length = Math.floor(seconds / 3)
    return Math.max(...memory.slice(third * length + 1, (third + 1) * length + 1)).toFixed(0)
  })
  say(
    `  memory before ${memory[0]?.toFixed(0)} MiB; at most, in each third of the time: ${most.join(', ')} MiB`,
  )
  const calmSecond = calmFrom(all, normal)
  say(
    `then half of the peak: latencies as before ${calmSecond === null ? 'not' : `from second ${calmSecond} on`}`,
  )
  if (values.out) appendFileSync(values.out, `${lines.join('\n')}\n`)
} finally {
  await gateway.stop()
  await Promise.all(processes.map((judge) => judge.stop()))
}
