import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { testApp } from '../../support/app.ts'
import { collectGarbage, heldTexts } from '../../support/held-texts.ts'
import { completion, scriptedServer } from '../../support/scripted-server.ts'

const rows = 8
const groupWaitS = 0.5

const rewards = {
  ruled: { steps: [{ name: 'rule', function: 'exact-match' }] },
  judged: { steps: [{ name: 'judge', function: 'digit-judge', model: 'judge' }] },
  ranked: { steps: [{ name: 'rank', function: 'rank-rule' }] },
  'ranked-wait': { group: { wait_s: groupWaitS }, steps: [{ name: 'rank', function: 'rank-rule' }] },
  'ranked-some': { group: { min: 2 }, steps: [{ name: 'rank', function: 'rank-rule' }] },
}

t.test('nothing of a row is held once its step is over, but its final', async (t) => {
  const judge = await scriptedServer((seen) => completion(seen, '1'))
  t.teardown(() => judge.kill())
  const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-held-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  // Its answers are cached.
  const sampling = { temperature: 0 }
  const models = { judge: { model: 'm', instances: [judge.url], hedge: { budget: 0 }, sampling } }
  const app = await testApp(t, { gateway: { models, queue: { folder, commit_ms: 0 } }, ...rewards })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const ask = async (method: string, path: string, body?: object, signal?: AbortSignal): Promise<object> => {
    const reply = await fetch(origin + path, {
      method,
      headers: { connection: 'close', ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
    return (await reply.json()) as object
  }

  const held = async (): Promise<unknown> => {
    const gone = new AbortController()
    const score = (reward: string, sample: object, signal?: AbortSignal) =>
      ask('POST', '/v1/score', { reward, run: 'held', training_step: 1, samples: [sample] }, signal)
    const member = (kind: string, n: number, k: number, size: number) => ({
      id: `MARK-${kind}-${n}-${k}`,
      response: `MARK-${kind} ${'x'.repeat(k)} ${n}`,
      group_id: `${kind}-${n}`,
      group_size: size,
    })
    const asked = Array.from({ length: rows }, (_, n) => [
      score('ruled', { id: `MARK-ruled-${n}`, response: `MARK-ruled ${n}`, ground_truth: 'x' }),
      score('judged', { id: `MARK-judged-${n}`, response: `MARK-judged ${n}` }),
      score('ranked-wait', member('whole', n, 0, 2)),
      score('ranked-wait', member('whole', n, 1, 2)),
      score('ranked-wait', member('incomplete', n, 0, 2)),
      score('ranked-wait', member('left', n, 0, 2), gone.signal).catch(() => ({})),
    ])
    setTimeout(() => gone.abort(), 100)
    return Promise.all(asked.flat())
  }
  const queued = async (): Promise<void> => {
    const put = (uid: string, kind: string, body: { reward: string; sample: object }) =>
      ask('PUT', `/v1/runs/run/rollouts/${uid}`, {
        ...body,
        sample: { response: `MARK-${kind} ${uid}`, policy_version: `MARK-${kind}-${uid}`, ...body.sample },
        ...(kind === 'late' && { deadline_s: 1 }),
      })
    for (let n = 0; n < rows; n++) {
      const group = (kind: string, reward: string, size: number, k: number) =>
        put(`${kind}-${n}-${k}`, kind, { reward, sample: { group_id: `${kind}-${n}`, group_size: size } })
      await put(`old-${n}`, 'replaced', { reward: 'judged', sample: {} })
      await put(`old-${n}`, 'newer', { reward: 'judged', sample: {} })
      await group('cancelled', 'ranked', 2, 0)
      await ask('POST', '/v1/runs/run/cancel', { uid: `cancelled-${n}-0` })
      await Promise.all([
        put(`rule-${n}`, 'rule', { reward: 'ruled', sample: { ground_truth: 'x' } }),
        group('both', 'ranked', 2, 0),
        group('both', 'ranked', 2, 1),
        group('some', 'ranked-some', 2, 0),
        group('some', 'ranked-some', 2, 1),
        group('late', 'ranked', 2, 0),
      ])
    }
  }
  await Promise.all([held(), queued()])
  const unfinished = async () => ((await ask('GET', '/v1/runs/run')) as { unfinished: number }).unfinished
  while ((await unfinished()) > 0) await pause(50)
  // The next group of the reward forgets those whose time is over.
  await pause(1000 * groupWaitS + 50)
  const last = { response: 'x', group_id: 'last', group_index: 0, group_size: 2 }
  await ask('POST', '/v1/score', { reward: 'ranked-wait', samples: [last] })
  ;(judge.seen as unknown[]).length = 0
  collectGarbage()
  t.strictSame(Object.fromEntries(await heldTexts(/^MARK-([a-z]+)[- ].*\d/)), {})
})
