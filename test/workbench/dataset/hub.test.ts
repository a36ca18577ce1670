import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hubAddress, matches } from '../../../src/workbench/dataset/hub-address.ts'
import { hubFiles } from '../../../src/workbench/dataset/hub-files.ts'
import { writeParquet } from '../../../src/workbench/dataset/parquet.ts'
import { runCommand } from '../../support/command-line.ts'

const commit = 'c'.repeat(40)
const token = 'hf_secretSecretSecret'
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const gitBlob = (bytes: Buffer) =>
  createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')

type Answer = (request: IncomingMessage, response: ServerResponse) => void

async function listening(t: Test, answer: Answer): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A hub with one data set. Large files lie on another host, to which it redirects. `faults` answer first, one each. */
async function fakeHub(t: Test, files: Readonly<Record<string, Buffer>>) {
  const seen: {
    readonly where: 'hub' | 'files'
    readonly url: string
    readonly authorization: string | undefined
  }[] = []
  const faults: Answer[] = []
  let wantsToken = false
  const note = (where: 'hub' | 'files', { url = '', headers }: IncomingMessage) =>
    seen.push({ where, url, authorization: headers.authorization })
  const store = await listening(t, (request, response) => {
    note('files', request)
    const fault = faults.shift()
    if (fault) fault(request, response)
    else response.end(files[decodeURIComponent(request.url ?? '').slice(1)])
  })
  const entries = Object.entries(files).map(([path, bytes]) =>
    path.endsWith('.parquet')
      ? {
          type: 'file',
          path,
          size: bytes.length,
          oid: 'a'.repeat(40),
          lfs: { oid: sha256(bytes), size: bytes.length },
        }
      : { type: 'file', path, size: bytes.length, oid: gitBlob(bytes) },
  )
  const hostile = [
    { type: 'directory', path: 'default', oid: 'b'.repeat(40), size: 0 },
    { type: 'file', path: 'default/train/x.parquet', oid: '../../../../etc/passwd', size: 3 },
    { type: 'file', path: 'default/train/y.parquet', oid: 'd'.repeat(40), size: -1 },
    { type: 'file', path: 'default/tra\u001bn/0.parquet', oid: 'd'.repeat(40), size: 1 },
    { type: 'file', path: 7, oid: 'd'.repeat(40), size: 1 },
    null,
  ]
  const json = (response: ServerResponse, value: unknown, headers = {}) =>
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
  const hub = await listening(t, (request, response) => {
    note('hub', request)
    const { url = '', headers } = request
    if (wantsToken && headers.authorization !== `Bearer ${token}`)
      return response.writeHead(401, { 'x-error-message': `secret of ${headers.authorization}` }).end('no')
    if (url.startsWith('/api/datasets/Old/name/'))
      return response.writeHead(307, { location: url.replace('Old/name', 'o/n') }).end()
    if (url.startsWith('/api/datasets/o/n/revision/'))
      return url.includes('missing')
        ? response.writeHead(404, { 'x-error-code': 'RevisionNotFound' }).end()
        : json(response, { sha: commit })
    if (url === `/api/datasets/o/n/tree/${commit}?recursive=true`)
      return json(response, [...hostile, ...entries.slice(0, 1)], {
        link: `<${hub}/api/datasets/o/n/tree/${commit}?recursive=true&cursor=2>; rel="next"`,
      })
    if (url.includes('cursor=2'))
      return json(response, entries.slice(1), { link: '<http://127.0.0.1:9/elsewhere>; rel="next"' })
    const path = decodeURIComponent(url.split(`/resolve/${commit}/`)[1] ?? '')
    if (!(path in files)) return response.writeHead(404).end()
    if (path.endsWith('.parquet'))
      return response.writeHead(302, { location: `${store}/${encodeURIComponent(path)}` }).end()
    return response.end(files[path])
  })
  const cache = t.testdir({ cache: {} })
  const env = { HF_ENDPOINT: hub, HF_TOKEN: token, REWARD_GATEWAY_CACHE: join(cache, 'cache') }
  const waits: number[] = []
  const told: string[] = []
  return {
    env,
    seen,
    faults,
    waits,
    told,
    cache: env.REWARD_GATEWAY_CACHE,
    needToken: () => {
      wantsToken = true
    },
    fetch: (address: string, own: Readonly<Record<string, string>> = {}) =>
      hubFiles(address, {
        env: { ...env, ...own },
        signal: new AbortController().signal,
        tell: (line) => told.push(line),
        wait: async (ms) => void waits.push(ms),
      }),
  }
}

const rowsOf = (answers: readonly number[]) =>
  answers
    .map((answer) => JSON.stringify({ prompt: 'What?', response: `#### ${answer}`, ground_truth: '5' }))
    .join('\n')

async function parquetOf(t: Test, answers: readonly number[]): Promise<Buffer> {
  const folder = t.testdir({ 'rows.jsonl': `${rowsOf(answers)}\n` })
  await writeParquet(join(folder, 'rows.jsonl'), join(folder, 'rows.parquet'))
  return readFileSync(join(folder, 'rows.parquet'))
}

t.test(
  'a split of the hub is scored in order, downloaded once, and the token stays at the hub',
  async (t) => {
    const hub = await fakeHub(t, {
      'default/train/0000.parquet': await parquetOf(t, [5, 4]),
      'default/train/0001.parquet': await parquetOf(t, [3, 5]),
      'default/test/0000.parquet': await parquetOf(t, [5]),
    })
    hub.needToken()
    const folder = t.testdir({ out: {} })
    const score = (input: string, env = {}) => {
      const output = join(folder, 'out', 'scored.jsonl')
      const argv = ['score', '--function', 'numeric-match', '--input', input, '--output', output]
      return runCommand(argv, { env: { ...hub.env, ...env } }).then((ran) => ({
        ...ran,
        rewards:
          ran.code === 0
            ? readFileSync(output, 'utf8')
                .trim()
                .split('\n')
                .map((line) => JSON.parse(line).reward)
            : [],
      }))
    }
    const first = await score('hf://o/n/train')
    t.strictSame([first.code, first.rewards], [0, [1, 0, 0, 1]], first.stderr)
    t.match(first.stderr, /downloads 2 of 2 files/)
    const ofFiles = hub.seen.filter(({ where }) => where === 'files')
    t.equal(ofFiles.length, 2)
    t.strictSame(new Set(ofFiles.map(({ authorization }) => authorization)), new Set([undefined]))
    t.ok(
      hub.seen.every(({ where, authorization }) => where === 'files' || authorization === `Bearer ${token}`),
    )

    const again = await score('hf://datasets/o/n/default/train')
    t.strictSame(again.rewards, first.rewards)
    t.equal(hub.seen.filter(({ where }) => where === 'files').length, 2, 'nothing is downloaded again')
    const asked = hub.seen.length
    t.strictSame((await score('hf://o/n/train', { HF_HUB_OFFLINE: '1' })).rewards, first.rewards)
    t.equal(hub.seen.length, asked, 'offline asks nothing')
    t.strictSame((await score('hf://Old/name/train')).rewards, first.rewards, 'a data set that was renamed')

    const refused = await score('hf://o/n/train', { HF_TOKEN: 'hf_otherOtherOther' })
    t.equal(refused.code, 2)
    t.match(refused.stderr, /does not accept the token in HF_TOKEN/)
    t.notMatch(refused.stderr, /hf_other|secret of/)
    const unknown = await score('hf://o/n/tran')
    t.match(unknown.stderr, /no split 'tran'.*train/)
    t.notOk(unknown.stderr.includes('\u001b'))
    const full = await score('hf://o/n/test', { REWARD_GATEWAY_CACHE: join(folder, 'out', 'scored.jsonl') })
    t.match(full, { code: 2, stderr: /cannot be written/ })
    const check = await runCommand(['check', 'rm-configs/gsm8k.yaml', '--data', 'hf://o/n/test'], {
      env: hub.env,
    })
    t.match(check.stdout, /hf:\/\/o\/n\/test/, check.stderr)
  },
)

t.test('files of a revision are read by name, and their bytes are what the hub lists', async (t) => {
  const hub = await fakeHub(t, {
    'data/a.jsonl': Buffer.from(`${rowsOf([5])}\n`),
    'data/b.jsonl': Buffer.from(`${rowsOf([4])}\n`),
    'data/train-0.parquet': await parquetOf(t, [5]),
    'data/train-1.parquet': await parquetOf(t, [5]),
  })
  const one = await hub.fetch('hf://o/n@v1.0/data/a.jsonl')
  t.match(one, /\.jsonl$/)
  t.equal(readFileSync(one, 'utf8'), `${rowsOf([5])}\n`)
  t.ok(hub.seen.some(({ url }) => url.endsWith('/revision/v1.0')))
  t.equal(readdirSync(await hub.fetch('hf://o/n/data/train-*.parquet')).length, 2)
  t.equal(readdirSync(await hub.fetch('hf://o/n/**/train-*.parquet')).length, 2)
  await t.rejects(hub.fetch('hf://o/n/data/*.jsonl'), /several are read only if all are Parquet/)
  await t.rejects(hub.fetch('hf://o/n/data/none.jsonl'), /no such file/)
  await t.rejects(hub.fetch('hf://o/n@missing/data/a.jsonl'), /no such revision/)
  await t.rejects(hub.fetch('hf://o/n/train'), /no Parquet files of this data set/)
  await t.rejects(
    hub.fetch('hf://o/n/data/a.jsonl', { HF_TOKEN: '', HF_ENDPOINT: `${hub.env.HF_ENDPOINT}/x` }),
    /HF_ENDPOINT/,
  )
  await t.rejects(
    hub.fetch('hf://o/n/data/a.jsonl', { HF_ENDPOINT: 'http://hub.example' }),
    /only sent over https/,
  )
})

t.test('rows with columns of their own are refused with the names of these, and what to do', async (t) => {
  const rows = '{"question":"2 + 2?","answer":"4"}\n{"question":"1 + 2?","answer":"3"}\n'
  const hub = await fakeHub(t, { 'data/a.jsonl': Buffer.from(rows) })
  const input = 'hf://o/n/data/a.jsonl'
  const output = join(t.testdir(), 'scored.jsonl')
  const wanted =
    /unknown columns "question", "answer"\. A row has prompt, response and ground_truth.* rename yours .*reward-gateway prepare/
  for (const argv of [
    ['check', 'rm-configs/gsm8k.yaml', '--data', input],
    ['audit', 'rm-configs/gsm8k.yaml', '--input', input],
    ['score', '--config', 'rm-configs/gsm8k.yaml', '--input', input, '--output', output],
  ]) {
    const { code, stdout, stderr } = await runCommand(argv, { env: hub.env })
    t.not(code, 0, argv.join(' '))
    t.match(stdout + stderr, wanted, argv.join(' '))
  }
})

t.test('a hub that is busy, or a connection that breaks, costs time and nothing else', async (t) => {
  const bytes = await parquetOf(t, [5, 5])
  const hub = await fakeHub(t, { 'main/train/0000.parquet': bytes })
  const left = () =>
    readdirSync(join(hub.cache, 'hub'), { recursive: true }).filter((name) =>
      String(name).includes('partial'),
    )
  hub.faults.push(
    (_, response) => response.writeHead(429, { 'retry-after': '7' }).end(),
    (_, response) =>
      response
        .writeHead(200, { 'content-length': bytes.length })
        .write(bytes.subarray(0, 9), () => response.destroy()),
    (_, response) => response.end(bytes.subarray(0, 9)),
    (_, response) => response.end(Buffer.alloc(bytes.length)),
  )
  const place = await hub.fetch('hf://o/n/train')
  t.ok(readFileSync(place).equals(bytes), 'whole at the fifth try')
  t.strictSame(hub.waits, [7000, 2000, 4000, 8000])
  t.match(hub.told.join('\n'), /limits requests.*\n.*connection.*\n.*another length.*\n.*other bytes/)
  t.strictSame(left(), [])

  const other = await fakeHub(t, { 'main/train/0000.parquet': bytes })
  for (let at = 0; at < 5; at++) other.faults.push((_, response) => response.end(Buffer.alloc(bytes.length)))
  await t.rejects(other.fetch('hf://o/n/train'), /other bytes than the hub lists/)
  t.notOk(existsSync(join(other.cache, 'hub', 'splits')), 'and nothing is kept')
  other.faults.push((_, response) => response.writeHead(429, { 'retry-after': '3600' }).end())
  await t.rejects(other.fetch('hf://o/n/train'), /limits requests/, 'an hour is the user to wait')
  const loop = await listening(t, (request, response) =>
    response.writeHead(302, { location: request.url }).end(),
  )
  await t.rejects(other.fetch('hf://o/n/train', { HF_ENDPOINT: loop }), /redirects more than/)
  const odd = await listening(t, (_, response) =>
    response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  )
  await t.rejects(other.fetch('hf://o/n/train', { HF_ENDPOINT: odd }), /not https/)
  const ending = new AbortController()
  const stopping = runCommand(
    [
      'score',
      '--function',
      'numeric-match',
      '--input',
      'hf://o/n/train',
      '--output',
      join(t.testdirName, 'x.jsonl'),
    ],
    {
      env: { ...other.env, HF_ENDPOINT: await listening(t, () => ending.abort('SIGINT')) },
      signal: ending.signal,
    },
  )
  t.match(await stopping, { code: 1, stderr: /stopped/ })
})

t.test('an address that names nothing is refused with the forms of one', async (t) => {
  for (const text of [
    'hf://',
    'hf://o/n',
    'hf://o/../n/train',
    'hf://o/n/..',
    'hf://o/n/a/b/c',
    'hf://o/n/a//x.parquet',
    'hf://o/n@v1/train',
    'hf://o/n@a/../b/x.parquet',
    'hf://u:p@h/n/t',
    'hf://o/n@v1@v2/x.parquet',
    `hf://${'o'.repeat(300)}/n/t`,
  ])
    t.throws(
      () => hubAddress(text),
      { code: 'RG_COMMAND_INVALID', message: /hf:\/\/OWNER\/NAME\/SPLIT/ },
      text,
    )
  t.match(hubAddress('hf://datasets/openai/gsm8k/main/test'), {
    repository: 'openai/gsm8k',
    what: { config: 'main', split: 'test' },
  })
  t.match(hubAddress('hf://datasets/o/n@~parquet/default/train/0000.parquet').what, {
    revision: 'refs/convert/parquet',
  })
  for (const [path, pattern, wanted] of [
    ['data/train-0.parquet', 'data/*.parquet', true],
    ['data/more/train-0.parquet', 'data/*.parquet', false],
    ['data/more/train-0.parquet', '**/train-*.parquet', true],
    ['train.parquet', '**/train.parquet', true],
    ['a/b', 'a/b/**', true],
    ['a[0].jsonl', 'a[0].jsonl', true],
    ['a_parquet', 'a.parquet', false],
  ] as const)
    t.equal(matches(path, pattern), wanted, `${path} ${pattern}`)
  const began = process.cpuUsage()
  matches(`${'a'.repeat(1000)}b`, `${'*a'.repeat(200)}c.parquet`)
  t.ok(process.cpuUsage(began).user < 1e6)
})
