import { request } from 'node:http'
import { hostname } from 'node:os'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/serving/http/app.ts'
import { checkHost } from '../../../src/serving/http/auth.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { testGateway } from '../../support/gateway.ts'

const rule = { name: 'rule', function: 'echo-rule' }

async function listening(t: Test, gateway: object, env: Record<string, string> = {}) {
  const opened = await testGateway(t, { gateway, one: { steps: [rule] } }, { env })
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const app = await createApp({ gateway: opened, metrics, bodyLimit: 4096 })
  t.teardown(() => app.close())
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  return (host: string, path: string, headers: Record<string, string> = {}) =>
    new Promise<number>((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', path, headers: { ...headers, host } }, (response) => {
        resolve(response.statusCode ?? 0)
        response.destroy()
      })
      sent.on('error', reject)
      sent.end()
    })
}

const strangers = [
  'evil.com',
  'evil.com:8080',
  'EVIL.com.',
  'localhost.evil.com',
  '127.0.0.1.evil.com',
  '1.2.3.4.5',
  'a.ml',
  '[::1].evil.com',
  '127.0.0.1@evil.com',
  'evil.com#.local',
  'local',
]
const own = [
  'localhost',
  'localhost:8080',
  'LOCALHOST',
  'page.localhost',
  '127.0.0.1:1',
  '[::1]:80',
  '10.1.2.3',
  'gateway',
  'reward_gateway:8080',
  'gateway.rl.svc',
  'gateway.rl.svc.cluster.local:8080',
  'box.local',
  'host.docker.internal',
  hostname(),
]

t.test('without keys, DNS rebinding reads nothing (M46)', async (t) => {
  const status = await listening(t, {})
  for (const host of strangers.slice(0, -1))
    for (const path of ['/v1/rewards', '/v1/functions', '/v1/models', '/metrics', '/v1/rewards/one/stats'])
      t.equal(await status(host, path), 403, `${host} ${path}`)
  for (const host of own) t.equal(await status(host, '/v1/rewards'), 200, host)
  for (const path of ['/livez', '/readyz'])
    t.equal(await status('probe.example.com', path), 200, 'probes come by any name')
})

t.test('listen.allowed_hosts adds names, and is not needed with keys (M46)', async (t) => {
  const status = await listening(t, { listen: { allowed_hosts: ['Rewards.example.com', '*.corp.example'] } })
  for (const host of [
    'rewards.example.com',
    'rewards.example.com:80',
    'a.corp.example',
    'a.b.corp.example',
    'localhost',
  ])
    t.equal(await status(host, '/v1/rewards'), 200, host)
  for (const host of ['example.com', 'corp.example', 'xcorp.example', 'evil-rewards.example.com'])
    t.equal(await status(host, '/v1/rewards'), 403, host)
  const any = await listening(t, { listen: { allowed_hosts: ['*'] } })
  t.equal(await any('evil.com', '/v1/rewards'), 200)
  const keys = { viewer: { env: 'VIEWER', scopes: ['read'] } }
  const keyed = await listening(t, { keys }, { VIEWER: 'viewer-key-0123456789' })
  t.equal(await keyed('evil.com', '/v1/rewards'), 401, 'a page has no key')
  t.equal(await keyed('evil.com', '/v1/rewards', { authorization: 'Bearer viewer-key-0123456789' }), 200)
})

t.test('trainers on other machines may use any host name, browsers may not (M46)', async (t) => {
  const passes = (
    host: string,
    headers: object,
    localAddress = '10.0.0.7',
    allowed: readonly string[] = [],
  ) => {
    const request = { headers: { host, ...headers }, socket: { localAddress } }
    try {
      checkHost(request as unknown as Parameters<typeof checkHost>[0], allowed)
      return true
    } catch {
      return false
    }
  }
  const clients = [
    { 'user-agent': 'python-requests/2.32' },
    { 'user-agent': 'Python/3.11 aiohttp/3.9', accept: '*/*' },
    { 'user-agent': 'node', 'accept-language': '*', 'sec-fetch-mode': 'cors' },
    { 'user-agent': 'curl/8.5.0' },
    { 'user-agent': 'kube-probe/1.30' },
    {},
  ]
  for (const headers of clients) t.ok(passes('rewards.example.com', headers), JSON.stringify(headers))
  const pages = [
    { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' },
    { 'user-agent': 'node', 'accept-language': 'en-US,en;q=0.5' },
    { 'user-agent': 'curl', origin: 'http://evil.com' },
    { referer: 'http://evil.com/' },
    { 'sec-fetch-site': 'same-origin' },
    // A page may set these two itself in some browsers: fetch(path, { headers }).
    { 'user-agent': 'python-requests/2.32', 'accept-language': '*' },
    { 'user-agent': '', 'accept-language': '' },
  ]
  for (const headers of pages) {
    t.notOk(passes('rewards.example.com', headers), JSON.stringify(headers))
    t.ok(passes('10.0.0.7:8080', headers), 'by its address')
    t.ok(passes('rewards.example.com', headers, '10.0.0.7', ['*.example.com']))
  }
  t.notOk(passes('rewards.example.com', {}, '127.0.0.1'), 'on loopback every one may be a browser')
  t.notOk(passes('rewards.example.com', {}, '::ffff:127.0.0.1'))
  t.notOk(passes('evil.com', {}, '10.0.0.7', ['rewards.example.com']), 'a list is a list')
})
