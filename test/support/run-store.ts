import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import type { FinalState } from '../../src/serving/queue/records.ts'
import type { ReadFinal } from '../../src/serving/queue/run-reader.ts'
import type { Pending } from '../../src/serving/queue/run-state.ts'
import { RunStore, type StoreOptions, type Submission } from '../../src/serving/queue/run-store.ts'

/** Removed with the test file. */
export const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-queue-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export const storeOptions = (more: Partial<StoreOptions> = {}): StoreOptions => ({
  clock: systemClock,
  wallClock: () => 1_000_000,
  commitMs: 0,
  segmentBytes: 64 * 1024 * 1024,
  keepMs: 3_600_000,
  ...more,
})

export const submission = (uid: string, text: string, more: Partial<Submission> = {}): Submission => ({
  uid,
  digest: `digest of ${text}`,
  deadline: 2_000_000,
  reward: 'r',
  priority: 0,
  body: Buffer.from(JSON.stringify({ text })),
  ...more,
})

export const resultOf = (uid: string, attempt: number): string => JSON.stringify({ uid, attempt })

export const allFinals = (store: RunStore): Promise<readonly ReadFinal[]> =>
  store.reader.finalsAfter(store.state.expired, 1e9, Number.POSITIVE_INFINITY)

export const allPartials = async (store: RunStore): Promise<readonly string[]> =>
  (await store.reader.partialsAfter(0, 1e9, Number.POSITIVE_INFINITY)).map(
    ({ number, uid, attempt, terms }) => `${number} ${uid} ${attempt} ${terms}`,
  )

export const opened = async (folder: string, more: Partial<StoreOptions> = {}): Promise<RunStore> =>
  (await RunStore.open(folder, storeOptions(more))) ?? RunStore.create(folder, 'run', storeOptions(more))

/** Gives rollouts their finals, together. */
export const finish = (
  store: RunStore,
  rollouts: Iterable<Pending>,
  state: FinalState = 'scored',
): Promise<void> =>
  store.finish(
    [...rollouts].map((pending) => {
      const { uid, attempt } = pending.head
      return { pending, state, result: resultOf(uid, attempt) }
    }),
  )

/** Scores whatever has no final, as the gateway does after a start. */
export async function finishAll(store: RunStore): Promise<void> {
  await Promise.all(
    [...store.state.pending].map((pending) =>
      finish(store, [pending], pending.damage === null ? 'scored' : 'damaged'),
    ),
  )
}
