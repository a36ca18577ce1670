import { RequestTimes } from '../../src/core/stalls/request-times.ts'
import type { RequestDone } from '../../src/scoring/engine/events.ts'
import { type RecordedRow, recordedRow } from '../../src/serving/telemetry/record/row.ts'
import { linesOf, recordFiles } from '../../src/serving/telemetry/record/segments.ts'
import { sampleOf } from './gateway.ts'

/** Every recorded row of a folder, in the order of the files. */
export async function recordsIn(folder: string): Promise<readonly RecordedRow[]> {
  const rows: RecordedRow[] = []
  for (const file of await recordFiles(folder)) {
    for await (const line of linesOf(file)) rows.push(recordedRow.parse(JSON.parse(line)))
  }
  return rows
}

const plan = {
  name: 'one',
  version: '0123456789abcdef',
  arithmetic: 'strict',
  gate: null,
  formula: null,
  steps: [{ name: 'rule', op: 'add' }],
} as unknown as RequestDone['plan']

/** A request of one rule that is done, with these rewards. */
export const requestDone = (requestId: string, rewards: readonly number[], response = 'r'): RequestDone => ({
  plan,
  requestId,
  run: '',
  trainingStep: null,
  rows: rewards.map((_reward, index) => sampleOf(response, { id: String(index) })),
  outcomes: rewards.map((reward, index) => ({
    id: String(index),
    valid: true,
    reward,
    flags: [],
    terms: [
      {
        name: 'rule',
        weight: 1,
        status: 'scored',
        score: { value: reward },
        draws: 1,
        spread: 0,
        contribution: reward,
      },
    ],
  })),
  ms: new Float64Array(rewards.length),
  times: new RequestTimes(rewards.length, 0),
})
