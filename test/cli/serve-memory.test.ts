import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'

const mega = 1_000_000

interface Reply {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
}

t.test('a gateway with a small heap refuses requests that do not fit, and survives (M52, M2)', async (t) => {
  const judge = { model: 'm', instances: ['http://127.0.0.1:9'], health: { interval_s: 0 } }
  const folder = t.testdir({
    'gateway.yaml': JSON.stringify({ limits: { max_body_bytes: 60 * mega } }),
    'one.json': JSON.stringify({ steps: [{ name: 'rule', function: 'exact-match' }] }),
    'judged.json': JSON.stringify({
      models: { judge },
      steps: [{ name: 'q', function: 'yes-no-judge', model: 'judge' }],
    }),
  })
  const child = spawn(
    process.execPath,
    ['--max-old-space-size=128', 'dist/src/cli/main.js', 'serve', '--config', folder, '--port', '0'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  t.teardown(() => child.kill('SIGKILL'))
  let written = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text
  })
  const address = /at (http:\S+) /
  while (!address.test(written)) await once(child.stdout, 'data')
  const url = address.exec(written)?.[1] ?? ''
  const post = (body: Buffer, headers: Record<string, string> = {}): Promise<Reply> =>
    new Promise((resolve, reject) => {
      let isAnswered = false
      const options = {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': body.length, ...headers },
      }
      const call = request(`${url}/v1/score`, options, (reply) => {
        isAnswered = true
        const { statusCode: status = 0, headers } = reply
        let text = ''
        reply.setEncoding('utf8').on('data', (piece) => {
          text += piece.slice(0, Math.max(0, 1000 - text.length))
        })
        const end = () => resolve({ status, retryAfter: headers['retry-after'], text })
        reply.on('end', end)
        reply.on('error', end)
      })
      // The refusal arrives before the whole body is sent, and then the connection is closed.
      call.on('error', (error) => {
        if (!isAnswered) reject(error)
      })
      call.end(body)
    })
  const lives = async () => {
    t.equal((await fetch(`${url}/livez`)).status, 200)
    t.equal(child.exitCode, null)
  }
  const at = async (count: number, body: Buffer, headers: Record<string, string> = {}) => {
    const replies = await Promise.all(Array.from({ length: count }, () => post(body, headers)))
    await lives()
    for (const { status, retryAfter } of replies)
      t.equal(retryAfter !== undefined, status === 429, `${status}`)
    return replies.map(({ status }) => status)
  }
  const text = (length: number, reward = 'one') =>
    Buffer.from(`{"reward":"${reward}","samples":[{"response":"${'x'.repeat(length)}","ground_truth":"x"}]}`)
  const packed = { 'content-encoding': 'gzip' }

  t.strictSame(await at(4, text(50 * mega)), [413, 413, 413, 413], 'bodies that never fit')
  const unpacked = await at(4, gzipSync(text(50 * mega)), packed)
  t.ok(unpacked.includes(413) && !unpacked.includes(200), `nor when they are packed: ${unpacked}`)
  for (const [name, body, headers] of [
    ['texts', text(12 * mega), {}],
    ['packed texts', gzipSync(text(12 * mega)), packed],
    [
      'rows of lists',
      Buffer.from(
        `{"reward":"one","samples":[${Array.from({ length: 40 }, () => `{"response":"x","ground_truth":[${'[],'.repeat(7000)}[]]}`).join(',')}]}`,
      ),
      {},
    ],
  ] as const) {
    const statuses = await at(8, body, headers)
    t.ok(statuses.includes(200), `${name}: one fits (${statuses})`)
    t.ok(
      statuses.every((status) => status === 200 || status === 429),
      `${name}: ${statuses}`,
    )
  }
  const dense = `{"response":"x","ground_truth":[${'{"a":1},'.repeat(12_000)}{}]}`
  const values = await at(
    4,
    Buffer.from(`{"reward":"one","samples":[${Array.from({ length: 150 }, () => dense).join(',')}]}`),
  )
  t.ok(
    values.every((status) => status === 413 || status === 429),
    `values count, not bytes alone: ${values}`,
  )
  const row = '{"prompt":"q","response":"yes","ground_truth":"yes"}'
  const rows = Buffer.from(
    `{"reward":"judged","samples":[${Array.from({ length: 30_000 }, () => row).join(',')}]}`,
  )
  const refused = await post(rows)
  t.match(refused, { status: 413, text: /"RG_REQUEST_TOO_LARGE".*send at most \d{4,5} of them at a time/ })
  t.strictSame(await at(1, text(mega)), [200])
})
