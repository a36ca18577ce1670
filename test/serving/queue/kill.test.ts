import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startSimulatedServers } from '../../../src/simulator/index.ts'
import { seeded } from '../../support/seeded.ts'
import { type Served, serveConfigs } from '../../support/served.ts'

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
t.comment(`SEED=${seed}`)
/** `KILLS=10` is what docs/queue.md reports. */
const kills = Number(process.env.KILLS ?? 3)
const perLife = 40

const sample = (uid: number) => ({
  prompt: `What is ${uid} plus 1?`,
  response: `The answer is ${uid % 3 === 0 ? uid + 1 : uid}.`,
  ground_truth: String(uid + 1),
})

interface Final {
  readonly uid: string
  readonly attempt: number
  readonly state: string
  readonly result: { readonly reward: number | null }
}

t.test(
  'ten times killed with SIGKILL again and again: each rollout has one final, and judges are asked again only for what was under way',
  async (t) => {
    const random = seeded(seed)
    const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-killed-'))
    const judges = await startSimulatedServers(2, { model: 'judge', latencyMedianMs: 60, latencySigma: 0.8 })
    let served: Served | null = null
    t.teardown(async () => {
      await served?.stop()
      await Promise.all(judges.map((judge) => judge.close()))
      rmSync(folder, { recursive: true, force: true })
    })
    const asked = () =>
      judges
        .flatMap((judge) => Object.entries(judge.stats().requests))
        .reduce((sum, [path, count]) => sum + (/completions/.test(path) ? count : 0), 0)
    const model = {
      model: 'judge',
      instances: judges.map(({ url }) => url),
      max_in_flight: 8,
      batch: { max_size: 1 },
    }
    const configs = {
      gateway: { models: { judge: { ...model, cache: 'never', hedge: { budget: 0 } } }, queue: { folder } },
      judged: {
        steps: [
          { name: 'rule', function: 'exact-match', options: { operation: 'like' } },
          { name: 'first', function: 'yes-no-judge', model: 'judge' },
          { name: 'second', function: 'yes-no-judge', model: 'judge', after: ['first'], weight: 0.5 },
        ],
      },
    }
    const finals: Final[] = []
    let cursor = ''
    let accepted = 0
    const request = async (path: string, init: RequestInit = {}) => {
      const reply = await fetch(`${served?.url}${path}`, init)
      // biome-ignore lint/suspicious/noExplicitAny: replies of several routes
      const json = (await reply.json()) as any
      if (!reply.ok) throw new Error(`${reply.status} ${JSON.stringify(json)}`)
      return json
    }
    const read = async (waitS: number): Promise<number> => {
      const json = await request(`/v1/runs/r/rewards?wait_s=${waitS}&after=${cursor}`)
      finals.push(...json.results)
      cursor = json.cursor
      return json.unfinished
    }
    for (let life = 0; life < kills; life += 1) {
      served = await serveConfigs(configs)
      const lines = Array.from({ length: perLife }, () =>
        JSON.stringify({ uid: String(accepted), reward: 'judged', sample: sample(accepted++) }),
      )
      const ndjson = { 'content-type': 'application/x-ndjson' }
      await request('/v1/runs/r/rollouts', { method: 'POST', headers: ndjson, body: lines.join('\n') })
      for (let wanted = finals.length + Math.floor(random() * perLife); finals.length < wanted; )
        await read(10)
      await served.stop()
    }
    served = await serveConfigs(configs)
    for (let unfinished = 1; unfinished > 0; ) unfinished = await read(20)
    const again = await fetch(`${served.url}/v1/runs/r/rewards`)
    const whole = (await again.json()) as { results: Final[] }
    t.strictSame(
      whole.results.map(({ uid }) => uid),
      finals.map(({ uid }) => uid),
      'a reader from the beginning gets what the one over all lives got',
    )
    t.equal(finals.length, kills * perLife)
    t.equal(new Set(finals.map(({ uid }) => uid)).size, accepted, 'one final for each')
    t.ok(finals.every(({ state, attempt }) => state === 'scored' && attempt === 1))
    const before = asked()
    const samples = Array.from({ length: accepted }, (_, uid) => ({ id: String(uid), ...sample(uid) }))
    const held = await request('/v1/score', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ reward: 'judged', samples }),
    })
    const rewardOf = new Map<string, number>(
      held.results.map(({ id, reward }: { id: string; reward: number }) => [id, reward]),
    )
    t.ok(
      finals.every(({ uid, result }) => result.reward === rewardOf.get(uid)),
      'each reward is that of a held request',
    )
    const needed = asked() - before
    t.equal(needed, 2 * accepted)
    // Each kill cuts off 16 calls at most, and an answer of the last commit may be lost.
    t.comment(`${before} calls for ${needed} needed, over ${kills} kills`)
    t.ok(before - needed <= kills * (16 + 16), `${before - needed} calls were asked again`)
  },
)
