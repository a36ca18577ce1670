/** What a page shows of the queue: how much each run has in it, how fast it moves, and what it waits for. */
import { z } from 'zod'
import { eachInSlices } from '../../core/slices.ts'
import { stallCauses } from '../../core/stalls/request-times.ts'
import type { StepStall } from '../../core/stalls/step-stalls.ts'
import type { RolloutQueue } from './queue.ts'
import type { Pending } from './run-state.ts'
import type { RunStore } from './run-store.ts'

/** Groups that a run names at most. */
const shownGroups = 8

const cause = z.enum([...stallCauses, 'queue', 'paused', 'disk'])
const count = z.int()
const perSecond = z.number().describe('Over the last 10 to 20 seconds.')
const seconds = z.number()

const waits = z
  .array(
    z.object({
      cause,
      name: z.string().describe('The model, the sandbox, or the kind of failure before a pause.'),
      rollouts: count,
    }),
  )
  .describe('What the unfinished rollouts wait for at this moment, most of them first: see docs/queue.md.')

const groups = z
  .array(
    z.object({
      group: z.string(),
      here: count.describe('Answers that are here.'),
      size: count.describe('Answers that it needs.'),
      deadline_s: seconds.describe('Until its first deadline.'),
    }),
  )
  .describe(`Groups that are not complete, those that end first: at most ${shownGroups}.`)

/** A training step that is over. */
export const stepStall = z.object({
  step: z.int().nullable().describe('null: its requests named none.'),
  ms: z.number().describe('From its last arrival to its last reward.'),
  shares: z
    .array(z.object({ cause: z.enum(stallCauses), model: z.string(), ms: z.number() }))
    .describe('What its last reward waited for: docs/stalls.md.'),
})

const stall = stepStall
  .nullable()
  .describe(
    'The last training step that is over, and what its last reward waited for: docs/stalls.md. null: none yet.',
  )

const runOverview = z.object({
  run: z.string(),
  unfinished: count.describe('Rollouts without a final.'),
  running: count.describe('Those that are being scored.'),
  oldest_s: seconds.nullable().describe('Age of the oldest of them. null: there is none.'),
  deadline_s: seconds.nullable().describe('Until the first of their deadlines.'),
  finals: count.describe('Finals since the run began.'),
  accepted_per_s: perSecond,
  finals_per_s: perSecond,
  waits,
  groups,
  last_stall: stall,
  bytes: count.describe('On disk.'),
  damaged: count.describe('Places of its log that could not be read.'),
})

/** The reply of GET /v1/queue. */
export const queueOverview = z.object({
  unfinished: count.describe('Rollouts without a final, of all runs.'),
  running: count.describe('Those that are being scored; queue.max_running is the most.'),
  bytes: count.describe('On disk, of all runs.'),
  credits: z.record(z.string(), z.number()).describe('What would be accepted now.'),
  disk_failing: z.boolean().describe('The last write failed: nothing is accepted.'),
  total_runs: count,
  runs: z.array(runOverview).describe('Those with the oldest rollouts first, then those that have none.'),
})

type RunOverview = z.output<typeof runOverview>
type Stalls = readonly { readonly run: string; readonly steps: readonly StepStall[] }[]

/** `most`: runs that it names. Looks at every unfinished rollout, in slices. */
export async function overviewOf(
  queue: RolloutQueue,
  {
    most,
    stalls,
    now = queue.now(),
  }: { readonly most: number; readonly stalls: Stalls; readonly now?: number },
): Promise<z.output<typeof queueOverview>> {
  const { scheduler, room, upkeep } = queue
  const { bytes, unfinished, credits } = room
  const stores = [...queue.runs.values()]
  const oldest = new Map<RunStore, number>()
  const looking = eachInSlices(stores.length, (at) => {
    const store = stores[at] as RunStore
    const [first] = store.state.pending
    if (first) oldest.set(store, first.head.at)
  })
  if (looking !== null) await looking
  const ageOf = (store: RunStore): number => oldest.get(store) ?? Number.POSITIVE_INFINITY
  stores.sort((one, other) => ageOf(one) - ageOf(other) || (one.run < other.run ? -1 : 1))
  const runs: RunOverview[] = []
  for (const store of stores.slice(0, most)) runs.push(await overviewOfRun(queue, store, stalls, now))
  return {
    unfinished,
    running: scheduler.running,
    bytes,
    credits: { ...credits },
    disk_failing: upkeep.isDiskFailing,
    total_runs: stores.length,
    runs,
  }
}

async function overviewOfRun(
  { scheduler }: RolloutQueue,
  store: RunStore,
  stalls: Stalls,
  now: number,
): Promise<RunOverview> {
  const { run, state, bytes, damage, accepted, finished } = store
  const counts = new Map<string, RunOverview['waits'][number]>()
  const waiting = new Map<string, { readonly first: Pending; here: number; deadline: number }>()
  const pending = [...state.pending]
  let oldest: number | null = null
  let deadline: number | null = null
  let running = 0
  const looking = eachInSlices(pending.length, (at) => {
    const one = pending[at] as Pending
    // It got its final meanwhile.
    if (!state.pending.has(one)) return
    const { head } = one
    oldest = Math.min(oldest ?? head.at, head.at)
    deadline = Math.min(deadline ?? head.deadline, head.deadline)
    if (scheduler.stateOf(one) === 'running') running += 1
    const { cause, name } = scheduler.waitOf(one)
    // Names of groups are shown in a list of their own.
    const shown = cause === 'group' ? '' : name
    const key = `${cause} ${shown}`
    const known = counts.get(key)
    if (known) known.rollouts += 1
    else counts.set(key, { cause, name: shown, rollouts: 1 })
    if (scheduler.stateOf(one) !== 'waiting') return
    const group = JSON.stringify([head.reward, head.step, name])
    const members = waiting.get(group)
    if (!members) waiting.set(group, { first: one, here: 1, deadline: head.deadline })
    else {
      members.here += 1
      members.deadline = Math.min(members.deadline, head.deadline)
    }
  })
  if (looking !== null) await looking
  const secondsTo = (at: number | null): number | null => (at === null ? null : (at - now) / 1000)
  return {
    run,
    unfinished: pending.length,
    running,
    oldest_s: oldest === null ? null : (now - oldest) / 1000,
    deadline_s: secondsTo(deadline),
    finals: state.last,
    accepted_per_s: accepted.perSecond,
    finals_per_s: finished.perSecond,
    waits: [...counts.values()].sort((one, other) => other.rollouts - one.rollouts),
    groups: [...waiting.values()]
      .sort((one, other) => one.deadline - other.deadline)
      .slice(0, shownGroups)
      .map(({ first: { head }, here, deadline }) => ({
        group: head.group ?? '',
        here,
        size: head.size ?? 0,
        deadline_s: (deadline - now) / 1000,
      })),
    last_stall: lastStall(stalls, run),
    bytes,
    damaged: damage.length,
  }
}

function lastStall(stalls: Stalls, run: string): RunOverview['last_stall'] {
  const [last] = stalls.find((one) => one.run === run)?.steps ?? []
  return last ? { ...last, shares: [...last.shares] } : null
}

/** The queue at this moment, for metrics; `now`: Unix time in milliseconds. */
export function figuresOf(queue: RolloutQueue, now = queue.now()) {
  const runs = [...queue.runs.values()].map(({ run, state, damage }) => {
    let oldest = now
    for (const { head } of state.pending) oldest = Math.min(oldest, head.at)
    const { size: unfinished } = state.pending
    return {
      run,
      unfinished,
      oldestSeconds: (now - oldest) / 1000,
      finals: state.last,
      kept: state.kept,
      damaged: damage.length,
    }
  })
  const { scheduler, room } = queue
  const { isDiskFailing, droppedFinals } = queue.upkeep
  const { running, counts } = scheduler
  return { runs, running, bytes: room.bytes, isDiskFailing, droppedFinals, ...counts }
}
