import t from 'tap'
import { testApp } from '../../support/app.ts'
import { judging, rewards, rule } from '../../support/queue-world.ts'
import { newFolder } from '../../support/run-store.ts'
import { scriptedServer } from '../../support/scripted-server.ts'

t.test('keys: reading and sending need the scope score', async (t) => {
  const judge = await scriptedServer(judging)
  t.teardown(() => judge.kill())
  const keys = { s: { env: 'S', scopes: ['score'] }, r: { env: 'R', scopes: ['read'] } }
  const gateway = { keys, queue: { folder: newFolder() } }
  const [score, read] = ['s'.repeat(32), 'r'.repeat(32)]
  const app = await testApp(t, { gateway, ruled: rewards.ruled }, 1 << 20, { S: score, R: read })
  const statusOf = async (method: 'GET' | 'PUT', url: string, key?: string) => {
    const headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) }
    const payload = JSON.stringify(rule('4'))
    return (await app.inject({ method, url, headers, ...(method === 'PUT' && { payload }) })).statusCode
  }
  t.equal(await statusOf('PUT', '/v1/runs/a/rollouts/u'), 401)
  t.equal(await statusOf('PUT', '/v1/runs/a/rollouts/u', read), 403)
  t.equal(await statusOf('PUT', '/v1/runs/a/rollouts/u', score), 202)
  t.equal(await statusOf('GET', '/v1/runs/a/rewards', read), 403)
  t.equal(await statusOf('GET', '/v1/runs/a/rewards', score), 200)
  t.equal(await statusOf('GET', '/v1/queue', read), 200)
  t.equal(await statusOf('GET', '/v1/queue', score), 403)
})

t.test('a key has at most its max_rollouts in the queue, over a restart too', async (t) => {
  const keys = { one: { env: 'ONE', max_rollouts: 2 }, other: { env: 'OTHER' } }
  const gateway = { keys, queue: { folder: newFolder(), commit_ms: 0 } }
  const env = { ONE: '1'.repeat(32), OTHER: '2'.repeat(32) }
  const open = () => testApp(t, { gateway, ranked: rewards.ranked }, 1 << 20, env)
  let app = await open()
  const send = async (method: 'PUT' | 'POST', path: string, key: string, body: object) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
    const reply = await app.inject({
      method,
      url: `/v1/runs/a/${path}`,
      headers,
      payload: JSON.stringify(body),
    })
    return { status: reply.statusCode, json: reply.json() }
  }
  const put = (uid: string, response = 'x', key = env.ONE) =>
    send('PUT', `rollouts/${uid}`, key, {
      reward: 'ranked',
      sample: { response, group_id: uid, group_size: 2 },
    })
  t.equal((await put('1')).status, 202)
  t.equal((await put('2')).status, 202)
  await app.close()
  app = await open()
  const full = await put('3')
  t.equal(full.status, 429)
  t.match(full.json.error.message, /2 rollouts of the key 'one'.*max_rollouts is 2/)
  t.equal((await put('2', 'newer')).status, 202, 'a newer attempt takes the place of the older one')
  t.equal((await put('4', 'x', env.OTHER)).status, 202)
  await send('POST', 'cancel', env.ONE, { uid: '1' })
  t.equal((await put('3')).status, 202)
})
