import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Agent, request } from 'undici'
import { seeded } from '../support/seeded.ts'
import { requestForms } from './request-forms.ts'
import { type Rollout, rolloutsOf } from './rollouts.ts'
import { clearWeather } from './stage.ts'
import { type Try, tryOnce } from './trainer.ts'
import { type Scene, type Trouble, weatherOf } from './weather.ts'

/** What one run of the scripted trainer came to. */
export interface RunReport {
  readonly seed: number
  readonly form: string
  readonly weather: readonly string[]
  readonly rows: number
  readonly tries: readonly Try[]
  readonly violations: readonly string[]
}

/** A run's rollouts, known before it, so that a gateway can be told their truths. */
export function rolloutsOfRun(seed: number): Rollout[] {
  const random = seeded(seed)
  return rolloutsOf(`run-${seed}`, 1 + Math.floor(random() * 24), random)
}

/** How long after the weather all must be scored. */
const recoveryMs = 20_000

/** One run: rows through one request form while faults strike; then all is well and every row must come to its reward. */
export async function run(seed: number, scene: Scene, origin: string): Promise<RunReport> {
  const rows = rolloutsOfRun(seed)
  const random = seeded(seed ^ 0x5bd1e995)
  const names = Object.keys(requestForms)
  const formName = names[Math.floor(random() * names.length)] ?? 'native'
  const form = requestForms[formName]
  if (!form) throw new Error(formName)
  const size = 1 + Math.floor(random() * form.rows)
  const weather = weatherOf(random, scene.servers.length)
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  /** Neither this process nor the gateway can answer while a busy machine gives them no core. */
  const latenessFrom = () => {
    const waited = scene.gateway.waitedMs()
    return () => delay.max / 1e6 + Math.max(0, scene.gateway.waitedMs() - waited)
  }
  const agent = new Agent({ headersTimeout: 30_000, bodyTimeout: 30_000 })
  const tries: Try[] = []
  const violations: string[] = []
  let isClear = false
  const isOnTrainer = weather.some((trouble) => trouble.isOnTrainer)
  const requests = chunks(rows, size).map((part) => ({
    part,
    giveUpMs: random() < 0.1 ? Math.floor(random() * 600) : null,
  }))
  const ask = async (part: readonly Rollout[], signal?: AbortSignal) => {
    const mayBeLost = () => !isClear && (isOnTrainer || signal?.aborted === true)
    const done = await tryOnce({
      origin,
      agent,
      form,
      rows: part,
      mayBeLost,
      lateness: latenessFrom(),
      ...(signal && { signal }),
    })
    tries.push(done)
    violations.push(...done.violations)
    return done.scored === part.length
  }
  const sky = Promise.all(weather.map((trouble) => strike(trouble, scene)))
  const repeated = random() < 0.15 ? sameBytes(origin, agent, rows, () => isOnTrainer) : null
  const isScored = await Promise.all(
    requests.map(({ part, giveUpMs }) =>
      ask(part, giveUpMs === null ? undefined : AbortSignal.timeout(giveUpMs)),
    ),
  )
  violations.push(...((await repeated) ?? []))
  await sky
  await clearWeather(scene)
  await agent.destroy()
  isClear = true
  const fresh = new Agent({ headersTimeout: 30_000, bodyTimeout: 30_000 })
  const started = performance.now()
  const lateness = latenessFrom()
  await Promise.all(
    requests.map(async ({ part }, index) => {
      while (!isScored[index]) {
        if (performance.now() - started > recoveryMs + lateness()) {
          violations.push(`rows from ${part[0]?.id} on had no reward ${recoveryMs / 1000} s after the faults`)
          break
        }
        const done = await tryOnce({
          origin,
          agent: fresh,
          form,
          rows: part,
          mayBeLost: () => false,
          lateness: latenessFrom(),
        })
        tries.push(done)
        violations.push(...done.violations)
        isScored[index] = done.scored === part.length
        if (!isScored[index]) await new Promise((resolve) => setTimeout(resolve, 150))
      }
    }),
  )
  await fresh.destroy()
  delay.disable()
  const ended = scene.gateway.ended()
  violations.push(...(ended === null ? await leftOver(scene) : [`the gateway has ended with ${ended}`]))
  return {
    seed,
    form: formName,
    weather: weather.map(({ atMs, what }) => `${atMs} ms: ${what}`),
    rows: rows.length,
    tries,
    violations,
  }
}

async function strike(trouble: Trouble, scene: Scene): Promise<void> {
  if (trouble.atMs > 0) await new Promise((resolve) => setTimeout(resolve, trouble.atMs))
  await trouble.strike(scene)
}

/** The same rows by a rule, twice: the same bytes (invariant 6). */
async function sameBytes(
  origin: string,
  agent: Agent,
  rows: readonly Rollout[],
  mayBeLost: () => boolean,
): Promise<string[]> {
  const samples = rows.map(({ id, question, response, truth }) => ({
    id,
    prompt: question,
    response,
    ground_truth: truth,
  }))
  const body = JSON.stringify({ reward: 'rule', samples })
  const headers = { 'content-type': 'application/json' }
  try {
    const replies = await Promise.all(
      [0, 1].map(async () => {
        const answer = await request(`${origin}/v1/score`, {
          dispatcher: agent,
          method: 'POST',
          headers,
          body,
        })
        return `${answer.statusCode} ${await answer.body.text()}`
      }),
    )
    return replies[0] === replies[1] && replies[0]?.startsWith('200')
      ? []
      : [`a rule answered ${replies[0]?.slice(0, 200)} and ${replies[1]?.slice(0, 200)}`]
  } catch (error) {
    return mayBeLost() ? [] : [`a rule's request was lost: ${error}`]
  }
}

/** Nothing stays in flight once nobody waits. */
async function leftOver({ gateway }: Scene): Promise<string[]> {
  const gauges = ['samples_in_flight', 'upstream_in_flight', 'upstream_waiting', 'questions_parked'].map(
    (name) => `reward_gateway_${name}`,
  )
  for (let tries = 0; ; tries++) {
    const counts = await Promise.all(gauges.map((name) => gateway.metric(name)))
    if (counts.every((count) => count === 0)) return []
    if (tries === 60) return [`left in flight: ${gauges.map((name, index) => `${name} ${counts[index]}`)}`]
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const chunks = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
