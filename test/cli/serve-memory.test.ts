import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'

const mega = 1_000_000

interface Reply {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
}

t.test('a gateway with a small heap (M52, M2)', async (t) => {
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
  /** The statuses of so many requests at once, which the gateway survives. */
  const at = async (t: Test, count: number, body: Buffer, headers: Record<string, string> = {}) => {
    const replies = await Promise.all(Array.from({ length: count }, () => post(body, headers)))
    t.equal((await fetch(`${url}/livez`)).status, 200)
    t.equal(child.exitCode, null)
    for (const { status, retryAfter } of replies)
      t.equal(retryAfter !== undefined, status === 429, `${status}`)
    return replies.map(({ status }) => status)
  }
  const text = (length: number) =>
    Buffer.from(`{"reward":"one","samples":[{"response":"${'x'.repeat(length)}","ground_truth":"x"}]}`)
  const packed = { 'content-encoding': 'gzip' }

  await t.test('refuses bodies that never fit as too large', async (t) => {
    t.strictSame(await at(t, 4, text(50 * mega)), [413, 413, 413, 413])
  })

  await t.test('refuses bodies that never fit once unpacked', async (t) => {
    const statuses = await at(t, 4, gzipSync(text(50 * mega)), packed)
    t.ok(statuses.includes(413) && !statuses.includes(200), `${statuses}`)
  })

  const list = `{"response":"x","ground_truth":[${'[],'.repeat(7000)}[]]}`
  for (const [name, body, headers] of [
    ['texts', text(12 * mega), {}],
    ['packed texts', gzipSync(text(12 * mega)), packed],
    [
      'rows of lists',
      Buffer.from(`{"reward":"one","samples":[${Array.from({ length: 40 }, () => list).join(',')}]}`),
      {},
    ],
  ] as const)
    await t.test(`scores ${name} that fit one by one, and asks for a retry of the others`, async (t) => {
      const statuses = await at(t, 8, body, headers)
      t.ok(statuses.includes(200), `one fits (${statuses})`)
      t.ok(
        statuses.every((status) => status === 200 || status === 429),
        `${statuses}`,
      )
    })

  await t.test('counts the values of a body, not its bytes alone', async (t) => {
    const dense = `{"response":"x","ground_truth":[${'{"a":1},'.repeat(12_000)}{}]}`
    const statuses = await at(
      t,
      4,
      Buffer.from(`{"reward":"one","samples":[${Array.from({ length: 150 }, () => dense).join(',')}]}`),
    )
    t.ok(
      statuses.every((status) => status === 413 || status === 429),
      `${statuses}`,
    )
  })

  await t.test('says how many rows with a judge it takes at a time', async (t) => {
    const row = '{"prompt":"q","response":"yes","ground_truth":"yes"}'
    const rows = Buffer.from(
      `{"reward":"judged","samples":[${Array.from({ length: 30_000 }, () => row).join(',')}]}`,
    )
    t.match(await post(rows), {
      status: 413,
      text: /"RG_REQUEST_TOO_LARGE".*send at most \d{4,5} of them at a time/,
    })
  })

  await t.test('scores after all of this as before', async (t) => {
    t.strictSame(await at(t, 1, text(mega)), [200])
  })
})
