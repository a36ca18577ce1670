// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of configs look so
import { spawn } from 'node:child_process'
import { linkSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runCommand } from '../support/command-line.ts'

const line = JSON.stringify({ id: 'a', response: 'so\n#### 4', ground_truth: '4' })

/** A port that is in use. */
async function taken(t: Test): Promise<number> {
  const server = createServer()
  t.teardown(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** The exit code and standard error of the process. */
function ended(command: string): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stderr })))
}

t.test('a command that cannot run exits with 2 and one line that says what and where (M29)', async (t) => {
  const port = String(await taken(t))
  const folder = t.testdir({
    'one.yaml': 'steps: [{ name: r, function: gsm8k-progressive }]\n',
    'rows.jsonl': `${line}\n`,
    'record.jsonl': JSON.stringify({
      format: 2,
      config: { reward: 'quality', version: 'v' },
      training_step: 1,
      reward: 1,
      valid: true,
      sample: {},
      terms: [],
      ms: 1,
    }),
    'gsm8k.jsonl': JSON.stringify({ question: '2 + 2?', answer: 'so\n#### 4' }),
    'broken.jsonl': `${line}\n{"id":\n`,
    'no.parquet': 'text',
    empty: {},
  })
  const at = (name: string) => join(folder, name)
  const scored = ['score', '--function', 'gsm8k-progressive', '--output', '-', '--input']
  const cases: [string[], RegExp][] = [
    [
      ['serve', '--config', at('one.yaml'), '--port', port],
      /cannot listen at 127\.0\.0\.1, port \d+: the port is in use/,
    ],
    [
      ['serve', '--config', at('one.yaml'), '--host', '203.0.113.1'],
      /203\.0\.113\.1, port 8080: this machine does not have/,
    ],
    [
      ['serve', '--config', at('one.yaml'), '--host', 'no-such-host.invalid'],
      /no-such-host\.invalid.*no known address/,
    ],
    [['serve', '--log-level', 'loud'], /--log-level: must be one of trace, debug, info, .*not 'loud'/],
    [['serve', '--log-level', 'wran'], /did you mean 'warn'/],
    [['serve', '--prot', '9'], /there is no option '--prot'; did you mean '--port'\?/],
    [['serve', '--port'], /--port needs a value/],
    [['serve', '--port', '--watch'], /--port needs a value; '--watch' is an option/],
    [['serve', 'port'], /'port' is not expected here; did you mean '--port'\?/],
    [['serve', '--watch=yes'], /--watch takes no value/],
    [['serve', '--config', at('none.yaml')], /none\.yaml: does not exist/],
    [['serve', '--config', at('empty')], /empty: holds no/],
    [['simulate', '--port', port], /port \d+: the port is in use/],
    [[...scored, at('none.jsonl')], /none\.jsonl: does not exist/],
    [[...scored, folder], /is a folder; a file is needed/],
    [[...scored, at('none.parquet')], /none\.parquet: does not exist/],
    [[...scored, at('no.parquet')], /no\.parquet: is not a Parquet file/],
    [
      ['score', '--function', 'gsm8k', '--input', at('rows.jsonl'), '--output', at('no/x.jsonl')],
      /no\/x\.jsonl: cannot be written: its folder/,
    ],
    [
      ['score', '--function', 'gsm8k', '--input', at('rows.jsonl'), '--output', '/dev/full'],
      /the disk is full/,
    ],
    [[...scored, at('rows.jsonl'), '--options', '{"mod": 1}'], /--options mod: .*did you mean 'mode'/],
    [[...scored, at('rows.jsonl'), '--options', '[1]'], /--options: must be an object, e\.g\. .*, not \[1\]/],
    [
      ['score', '--function', 'gsm8k-progresive', '--input', '-', '--output', '-'],
      /--function gsm8k-progresive: .*did you mean/,
    ],
    [['diff', at('none.jsonl'), at('rows.jsonl')], /none\.jsonl: does not exist/],
    [['analyze', at('none.parquet')], /none\.parquet: does not exist/],
    [['analyze', folder], /is a folder; a file is needed/],
    [['analyze', at('broken.jsonl')], /broken\.jsonl: line 2 is not JSON/],
    [['report', at('none.jsonl')], /none\.jsonl: does not exist/],
    [['prepare', 'gsm8k', at('none.parquet'), '--output', at('out')], /none\.parquet: does not exist/],
    [['prepare', 'gsm9k', 'x', '--output', at('out')], /no kind of data 'gsm9k'; did you mean 'gsm8k'/],
    [['prepare', 'subset', at('none.parquet'), '--output', at('x.parquet')], /none\.parquet: does not exist/],
    [['compare', at('none.jsonl')], /none\.jsonl: does not exist/],
    [
      ['calibrate', at('none.jsonl'), '--labels', at('none.jsonl'), '--label', 'x'],
      /none\.jsonl: does not exist/,
    ],
    [['audit', '--function', 'gsm8k', '--input', at('none.jsonl')], /none\.jsonl: does not exist/],
    [
      ['audit', '--function', 'gsm8k', '--input', at('rows.jsonl'), '--against', 'rules'],
      /did you mean 'rule'/,
    ],
    [['check', at('one.yaml'), '--data', at('none.parquet')], /none\.parquet: does not exist/],
    [['explain', 'r1:0', '--records', at('none')], /none: does not exist/],
    [['import', 'verl-config', at('none.yaml')], /none\.yaml: does not exist/],
    [['init'], /one DIR is needed/],
    [['init', folder], /rows\.jsonl exists; choose another folder/],
    [['init', at('one.yaml')], /one\.yaml\S*: cannot be written: /],
    // The system refuses folders there as if those above were missing.
    [['init', '/proc/rewards/own'], /\/proc\/\S+: cannot be written: /],
    [
      ['export', at('record.jsonl'), '--to', 'tensorboard', '--output', '/proc/figures'],
      /\/proc\/figures: cannot be written: /,
    ],
    [['prepare', 'gsm8k', at('gsm8k.jsonl'), '--output', '/proc/rows'], /\/proc\/rows: cannot be written: /],
    [['scroe'], /there is no command 'scroe'; did you mean 'score'/],
  ]
  for (const [argv, message] of cases) {
    const { code, stderr } = await runCommand(argv)
    const name = argv.join(' ')
    t.equal(code, 2, name)
    t.match(stderr, message, name)
    t.match(stderr, /^RG_[A-Z_]+: /, name)
    t.notMatch(stderr, /^ {4}at |ENOENT|EISDIR|IO Error|LINE 1/m, name)
    // A config's mistakes follow the line with their count.
    t.ok(stderr.trimEnd().split('\n').length <= 2, `${name}: ${stderr}`)
  }
})

t.test('an internal error shows a stack trace only on request (M29)', async (t) => {
  const broken = {
    stdin: new Proxy({} as NodeJS.ReadableStream, {
      get: () => {
        throw new TypeError('the terminal is odd')
      },
    }),
  }
  const { main } = await import('../../src/cli/main.ts')
  const said = async (env: Record<string, string>, ...more: string[]) => {
    let stderr = ''
    const sink = { write: (text: string) => (stderr += text) }
    const io = { ...broken, stdout: sink, stderr: sink, env, signal: new AbortController().signal }
    const argv = ['score', '--function', 'gsm8k', '--input', '-', '--output', '-', ...more]
    return { code: await main(argv, io as unknown as Parameters<typeof main>[1]), stderr }
  }
  const plain = await said({})
  t.equal(plain.code, 2)
  t.match(plain.stderr, /^RG_\w+: .*the terminal is odd.*\n$/)
  t.match((await said({ REWARD_GATEWAY_STACK: '1' })).stderr, /\n {4}at /)
})

t.test('a command that is stopped while it waits says so, and nothing of a bug', async (t) => {
  const ending = new AbortController()
  const { code, stderr } = await runCommand(['rewards', '--run', 'r', '--url', 'http://127.0.0.1:9'], {
    signal: ending.signal,
    onStderr: (text) => text.includes('does not answer') && ending.abort('SIGTERM'),
  })
  t.equal(code, 1)
  t.match(stderr, /^waiting: http:\/\/127\.0\.0\.1:9\S* does not answer\nstopped\n$/)
})

t.test('a low limit of open files is reported in one line (M29)', async (t) => {
  // V8's coverage adds its own lines about files that it cannot write. From Node 22 on, a server starts with 32 files.
  const { code, stderr } = await ended(
    'unset NODE_V8_COVERAGE; ulimit -n 24; node dist/src/cli/main.js serve --port 0',
  )
  t.equal(code, 2, stderr)
  t.match(stderr, /too many files are open; raise the limit/)
  t.equal(stderr.trimEnd().split('\n').length, 1, stderr)
})

t.test('a missing bracket is reported as one mistake, with its place (M29)', async (t) => {
  const folder = t.testdir({
    'a.yaml': 'steps: [{ name: r, function: gsm8k }\nformula: r\n',
    'b.yaml': 'steps:\n  - { name: r, function: gsm8k\n  - { name: q, function: gsm8k }\n',
    'c.yaml': 'steps: [{ name: r, function: gsm8k, when: r ? 1 : 2 }]\nformula: {a: ${B}}\n',
    'd.yaml': 'name: d\nname: e\nformula: r\nformula: q\nsteps: []\n',
  })
  const mistakes = async (name: string) => {
    const { code, stderr } = await runCommand(['check', join(folder, name)])
    t.equal(code, 1, 'check has found what it looks for')
    return stderr.trimEnd().split('\n').slice(1)
  }
  t.match(await mistakes('a.yaml'), [/a\.yaml:2:1: the '\[' of line 1 is not closed: a '\]' is missing/])
  t.match(await mistakes('b.yaml'), [/b\.yaml:\d/])
  t.match(await mistakes('c.yaml'), [/c\.yaml:1:\d+: .*put an expression with '\? :' into quotes/])
  t.match(await mistakes('d.yaml'), [/d\.yaml:2:1: /, /d\.yaml:4:1: /], 'each key that stands twice')
})

t.test('help COMMAND shows the help of a command', async (t) => {
  t.match(await runCommand(['help', 'serve']), { code: 0, stdout: /^reward-gateway serve / })
  t.match(await runCommand(['help', 'sevre']), { code: 2, stderr: /did you mean 'serve'/ })
})

t.test('score never overwrites its own input, under any name (M29)', async (t) => {
  const folder = t.testdir({ 'rows.jsonl': `${line}\n` })
  const input = join(folder, 'rows.jsonl')
  symlinkSync(input, join(folder, 'soft.jsonl'))
  linkSync(input, join(folder, 'hard.jsonl'))
  for (const name of ['rows.jsonl', './rows.jsonl', 'soft.jsonl', 'hard.jsonl'])
    for (const flags of [[], ['--resume'], ['--failed-only']]) {
      const output = `${folder}/${name}`
      const files = ['--input', input, '--output', output]
      const ran = await runCommand(['score', '--function', 'gsm8k-progressive', ...files, ...flags])
      t.match(ran, { code: 2, stderr: /^RG_INPUT_INVALID: .*is also the input; choose another file/ }, name)
      t.equal(readFileSync(input, 'utf8'), `${line}\n`)
    }
})

t.test(
  'a bad key of a sandbox server is a fault of its option, not of a gateway.yaml that nobody wrote',
  async (t) => {
    const key = 'a'.repeat(32)
    for (const [K, told] of [
      [undefined, /K is not set/],
      ['short', /at least 16 characters/],
      [`${key} ${key}`, /the same key twice/],
    ] as const) {
      const args = ['sandbox', '--key-env', 'K', '--port', '0']
      const { code, stderr } = await runCommand(args, { env: K === undefined ? {} : { K } })
      t.equal(code, 2)
      t.match(stderr, told)
      t.match(stderr, '--key-env')
      t.notMatch(stderr, 'gateway.yaml')
    }
  },
)
