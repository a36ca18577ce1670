/**
 * Hostile input everywhere, seeded: functions and verdicts by grammar and damage, every trainer's bodies and headers,
 * rm-configs. No crash, no status that is not declared, no verdict out of range, no growth. `--count` inputs in all.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openFunctions } from '../../src/scoring/functions/open-functions.ts'
import { createApp } from '../../src/serving/http/app.ts'
import { openObservedGateway } from '../../src/serving/observed-gateway.ts'
import { openMetrics } from '../../src/serving/telemetry/metrics/metrics.ts'
import { seeded } from '../support/seeded.ts'
import { fuzzConfigs } from './configs.ts'
import { functionTargets, fuzzFunctions } from './functions.ts'
import { fuzzRequests } from './requests.ts'
import { Texts } from './texts.ts'

const { values } = parseArgs({
  options: { count: { type: 'string', default: '1000000' }, seed: { type: 'string', default: '1' } },
})
const [count, seed] = [Number(values.count), Number(values.seed)]
/** Most inputs go where one costs least. */
const shares = { functions: 0.85, requests: 0.08, configs: 0.07 }
const texts = () => new Texts(seeded(seed))

const folder = join(import.meta.dirname, '../../reward-functions')
const { targets, without } = await functionTargets(folder)
// Code is compiled and tables are filled by then.
fuzzFunctions(targets, texts(), 20_000)
const before = memory()
const functions = fuzzFunctions(targets, texts(), Math.round(count * shares.functions))
const grownByFunctions = memory() - before

const host = await openFunctions({ folders: [], threads: 1, sampleTimeoutMs: 5000 })
const configs = await fuzzConfigs('rm-configs', host, texts(), Math.round(count * shares.configs))
await host.close()

const rule = { steps: [{ name: 'rule', function: 'numeric-match' }], on_invalid: 0 }
const gateway = await openObservedGateway({
  configs: [],
  inline: [{ file: 'judged.json', text: JSON.stringify(rule) }],
  functionFolders: [],
  env: {},
  secret: 'fuzz',
})
const metrics = openMetrics({
  version: 'fuzz',
  inFlight: () => gateway.inFlight,
  models: () => [],
  runs: () => gateway.runs(),
})
const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20 })
await fuzzRequests(app, texts(), 2000)
const beforeWires = memory()
const requests = await fuzzRequests(app, texts(), Math.round(count * shares.requests))
const grownByRequests = memory() - beforeWires
const leftInFlight = gateway.inFlight
await app.close()
await gateway.close()
metrics.close()

const faults = [...functions.faults, ...configs.faults, ...requests.faults]
process.stdout.write(
  `${JSON.stringify(
    {
      inputs: count,
      seed,
      functions: targets.length,
      functionsWithout: without,
      slowestCpuMs: Math.round(functions.slowestMs),
      slowest: functions.slowest,
      configsThatWork: configs.plans,
      statuses: requests.statuses,
      grownMib: { functions: Math.round(grownByFunctions), requests: Math.round(grownByRequests) },
      leftInFlight,
      faults: faults.length,
    },
    null,
    1,
  )}\n${faults.slice(0, 40).join('\n\n')}\n`,
)
const grows = Math.max(grownByFunctions, grownByRequests) > 100
process.exitCode = faults.length > 0 || grows || leftInFlight > 0 ? 1 : 0

/** MiB that are held, after a collection where `--expose-gc` allows one. */
function memory(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 2 ** 20
}
