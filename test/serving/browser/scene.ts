import type { FastifyInstance } from 'fastify'
import { shippedConfigs } from '../../../src/cli/gateway.ts'
import { startSimulatedServers } from '../../../src/cli/serve/simulated-servers.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { allOf, ListenerGuard } from '../../../src/core/listener-guard.ts'
import { type EngineEvents, engineEventNames } from '../../../src/scoring/engine/events.ts'
import { rewardRange } from '../../../src/scoring/plan/fold.ts'
import { createApp } from '../../../src/serving/http/app.ts'
import { openObservedGateway } from '../../../src/serving/observed-gateway.ts'
import { openQueue } from '../../../src/serving/queue/queue.ts'
import { LiveView } from '../../../src/serving/telemetry/live/live.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { exampleRollouts } from '../../../src/simulator/word-problems.ts'
import { fakeClock } from '../../support/clock.ts'
import { seeded } from '../../support/seeded.ts'

/** A listening gateway with simulated judges, whose page has a manual clock. */
export interface Scene {
  readonly url: string
  readonly app: FastifyInstance
  /** Judge calls in flight. */
  calls(): number
  /** Both judges answer nothing until the returned function is called. */
  holdJudges(): () => void
  /** The page's time. */
  now(): number
  /** Advances the page's time; each second is a tick. */
  advance(ms: number): void
  score(body: object): Promise<void>
  close(): Promise<void>
}

export interface SceneOptions {
  /** The text policy of the page. */
  readonly text?: 'full' | 'hash'
  /** With keys there are two small rewards instead of the shipped ones. */
  readonly keys?: object
  readonly env?: Readonly<Record<string, string>>
  /** Keeps submitted rollouts in this folder, and adds a reward `ranked` that compares answers to the two small ones. */
  readonly queueFolder?: string
  /** Adds a reward `code`, whose programs run unconfined, to the two small ones. */
  readonly hasCode?: boolean
}

const rollouts = exampleRollouts()

export async function openScene({
  text = 'full',
  keys,
  env = {},
  hasCode = false,
  queueFolder,
}: SceneOptions = {}): Promise<Scene> {
  const servers = await startSimulatedServers({ all: true })
  // On a slot's border, so that each tick of the play is a slot.
  const clock = fakeClock(Math.floor(Date.UTC(2026, 0, 15, 9, 30) / 120_000) * 120_000)
  const metrics = openMetrics({ version: 'browser', inFlight: () => gateway.inFlight })
  const live = new LiveView({ clock, epoch: 0, rangeOf: rewardRange, policy: () => text })
  const sandboxes = { local: { isolation: 'unconfined', programs: 1 } }
  const gatewayOf = {
    keys,
    models: { judge: judgeOf(servers.env) },
    ...(hasCode && { sandboxes }),
    ...(queueFolder && { queue: { folder: queueFolder } }),
  }
  const code = { name: 'tests', function: 'code-tests', sandbox: 'local', options: { score: 'share' } }
  const ranking = { name: 'rank', function: 'pairwise-judge', model: 'judge', pairs: { scheme: 'ring' } }
  const own = [
    { file: 'gateway.json', text: JSON.stringify(gatewayOf) },
    { file: 'rule.json', text: JSON.stringify({ steps: [{ name: 'rule', function: 'gsm8k-progressive' }] }) },
    {
      file: 'judged.json',
      text: JSON.stringify({ steps: [{ name: 'judge', function: 'yes-no-judge', model: 'judge' }] }),
    },
    ...(queueFolder ? [{ file: 'ranked.json', text: JSON.stringify({ steps: [ranking] }) }] : []),
    ...(hasCode ? [{ file: 'code.json', text: JSON.stringify({ steps: [code] }) }] : []),
  ]
  const gateway = await openObservedGateway({
    ...(keys || hasCode || queueFolder ? { configs: [], inline: own } : { configs: [shippedConfigs()] }),
    functionFolders: [],
    env: { ...servers.env, ...env },
    events: {
      ...metrics,
      engine: allOf<EngineEvents>(new ListenerGuard(clock), engineEventNames, {
        metrics: metrics.engine,
        live,
      }),
    },
  })
  const queue = await openQueue({ gateway, clock: systemClock })
  const app = await createApp({ gateway, metrics, bodyLimit: 16 << 20, live, clock, queue })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    url,
    app,
    calls: () =>
      gateway
        .models()
        .flatMap(({ instances }) => instances)
        .reduce((sum, { inFlight }) => sum + inFlight, 0),
    holdJudges() {
      for (const judge of ['judge-a', 'judge-b']) servers.fail(judge, { kind: 'hang', recovery: 'answer' })
      return servers.recover
    },
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    async score(body) {
      const reply = await app.inject({ method: 'POST', url: '/v1/score', payload: body })
      if (reply.statusCode !== 200) throw new Error(`scoring answered ${reply.statusCode}: ${reply.body}`)
    },
    async close() {
      queue?.stop()
      const closed = app.close()
      clock.advance(5000)
      await closed
      await gateway.close(0)
      await queue?.close()
      metrics.close()
      await servers.close()
    },
  }
}

const judgeOf = ({ JUDGE_A_0: url }: Readonly<Record<string, string>>): object => ({
  model: 'judge-a',
  instances: [url],
})

/** Training steps of a whole play. */
export const wholePlay = 112

/** Plays training steps of an improving run: five seconds each, in groups of eight. */
export async function play(scene: Scene, from: number, to: number, groups = 6): Promise<void> {
  const random = seeded(7 + from)
  for (let step = from; step < to; step += 1) {
    const skill = 0.2 + (0.55 * step) / wholePlay + 0.05 * random()
    const samples = Array.from({ length: groups }, () => {
      const problem = Math.floor(random() * 40)
      const hardness = 0.35 * random()
      return Array.from({ length: 8 }, (_, index) => answerOf(problem, skill - hardness, index, step, random))
    }).flat()
    if (step % 9 === 4) samples[5] = { ...samples[5]!, ground_truth: 'none' }
    await scene.score({ reward: 'demo', run: 'qwen3-4b-grpo', training_step: step, samples })
    if (step % 2 === 0)
      await scene.score({
        reward: 'gsm8k',
        run: 'cold-start',
        training_step: step,
        samples: samples.slice(0, 24).map(cutShort),
      })
    scene.advance(5000)
  }
}

/** Answers of a policy that stops before it says anything. */
const cutShort = <S extends { readonly response: string }>(sample: S): S => ({
  ...sample,
  response: sample.response.slice(0, 40),
})

function answerOf(problem: number, skill: number, index: number, step: number, random: () => number) {
  const kinds = rollouts.slice(problem * 4, problem * 4 + 4)
  const luck = random()
  const kind = luck < skill ? 0 : luck < skill + 0.5 ? 1 : random() < 0.75 ? 2 : 3
  const { extra_info: _kind, ...rollout } = kinds[kind] ?? kinds[0]!
  const opening = [
    '',
    `Let me work this out, take ${step}.\n`,
    'First the totals.\n',
    `Step by step (${step}):\n`,
  ][Math.floor(random() * 4)]
  return {
    ...rollout,
    id: `${rollout.group_id}/${index}`,
    group_index: index,
    group_size: 8,
    response: kind === 3 ? rollout.response : `${opening}${rollout.response}`,
  }
}
