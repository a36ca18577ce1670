/** The servers of one judge: simulated, with the verdicts of `verdicts.ts`. Takes `{ judge, ...options }` as JSON; ends with its parent. */
import type { SimulatedServerOptions } from '../../src/simulator/options.ts'
import { startSimulatedServers } from '../../src/simulator/server.ts'
import { answerTo, type JudgeName } from './verdicts.ts'

/** Their options, and how many there are. */
export interface JudgeServers extends SimulatedServerOptions {
  readonly judge: JudgeName
  readonly count: number
}

const { judge, count, ...options } = JSON.parse(process.argv[2] ?? '{}') as JudgeServers
await startSimulatedServers(count, {
  ...options,
  model: judge,
  control: true,
  policy: ({ text }) => answerTo(judge, text),
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
