/** The servers of one judge: simulated, with the verdicts of `verdicts.ts`. Takes `{ judge, ...options }` as JSON; ends with its parent. */
import type { SimulatedServerOptions } from '../../src/simulator/options.ts'
import { startSimulatedServers } from '../../src/simulator/server.ts'
import { type JudgeName, marksIn, verdictOf } from './verdicts.ts'

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
  policy: ({ text }) => {
    const marks = marksIn(text)
    // A prompt without its marks is a fault, which shows as a verdict that nobody expects.
    if (!marks) return 'There is no task here, or no attempt.'
    const verdict = verdictOf(judge, marks.task, marks.attempt, marks.image)
    return verdict === null ? 'It depends on what was meant.' : { score: verdict, reason: 'By the rule.' }
  },
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
