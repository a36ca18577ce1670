import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { eventFile, writeEvents } from '../../../src/workbench/export/tensorboard.ts'
import { runCommand } from '../../support/command-line.ts'
import { outcomesOf, sampleOf, testGateway } from '../../support/gateway.ts'

interface Told {
  readonly step?: number | null
  readonly run?: string
  readonly reward?: number | null
  readonly ms?: number
  readonly flags?: readonly string[]
}

/** A line of a record. */
function line({ step = 1, run = 'run-1', reward = 1, ms = 10, flags = [] }: Told) {
  const valid = reward !== null
  const failure = valid ? null : { kind: 'judge_timeout', retryable: true, detail: 'late' }
  const ask = {
    model: 'judge',
    draw: 0,
    ms: 100,
    source: ms < 20 ? 'call' : 'cache',
    tokens: { prompt: 200, completion: 2 },
  }
  return JSON.stringify({
    id: 'r:0',
    time: '2026-11-21T07:01:05.000Z',
    format: 2,
    config: { reward: 'quality', version: 'v' },
    run,
    training_step: step,
    sample: { id: '0', response: { sha256: 'x', chars: 40 }, tokens: { prompt: 100, response: 8 } },
    reward,
    valid,
    failure,
    substitute: null,
    flags,
    terms: [
      {
        name: 'rule',
        status: valid ? 'scored' : 'failed',
        score: reward,
        parts: valid ? { form: 0.5 } : {},
        asks: [ask],
      },
      { name: 'extra', status: 'off', score: null, parts: {}, asks: [] },
    ],
    ms,
  })
}

async function exported(t: Test, told: readonly Told[], ...args: readonly string[]) {
  const folder = t.testdir({ records: {} })
  const lines = told.map(line)
  // A record has several files, a file several gzip members, and the gateway is writing the last one.
  const half = Math.ceil(lines.length / 2)
  for (const [at, part] of [lines.slice(0, half), lines.slice(half)].entries())
    writeFileSync(
      join(folder, 'records', `record-20261121T070105000Z-0123abcd-00000${at}.jsonl.gz`),
      Buffer.concat([
        ...part.map((one) => gzipSync(`${one}\n`)),
        ...(at === 1 ? [gzipSync(line({})).subarray(0, 15)] : []),
      ]),
    )
  const output = join(folder, 'out')
  const ran = await runCommand(['export', join(folder, 'records'), '--output', output, ...args])
  const figures = () =>
    readFileSync(output, 'utf8')
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text))
  return { ...ran, output, figures }
}

t.test('a record becomes figures of each training step, and no failure is a number', async (t) => {
  const told = [
    { step: 2, reward: 0.5 },
    { step: 1, reward: 1, ms: 10, flags: ['odd'] },
    { step: 1, reward: 0, ms: 30 },
    { step: 1, reward: null, ms: 1000 },
    { step: 1, reward: 0.5, ms: 20, run: 'run-2' },
    { step: null },
  ]
  const { code, stderr, figures } = await exported(t, told, '--to', 'jsonl')
  t.equal(code, 0)
  t.match(stderr, /1 of 6 rows name no training_step/)
  const [first, second, other] = figures()
  t.match(
    [first, second, other],
    [{ run: 'run-1', reward: 'quality', step: 1 }, { step: 2 }, { run: 'run-2' }],
  )
  t.match(first.figures, {
    rows: 3,
    'reward/mean': 0.5,
    'reward/std': 0.5,
    'terms/rule/mean': 0.5,
    'terms/rule/parts/form/mean': 0.5,
    'terms/extra/off': 1,
    'rollout_tokens/prompt/mean': 100,
    'rollout_tokens/response/mean': 8,
    'rollout_tokens/response/sum': 24,
    'judge_tokens/prompt/sum': 200,
    response_chars: undefined,
    'response_chars/mean': 40,
    'latency_ms/max': 1000,
    'judge/answers': 3,
  })
  for (const [name, share] of [
    ['invalid/share', 1 / 3],
    ['invalid/judge_timeout', 1 / 3],
    ['terms/rule/failed', 1 / 3],
    ['flags/odd', 1 / 3],
    ['judge/reused', 2 / 3],
  ] as const)
    t.ok(Math.abs(first.figures[name] - share) < 1e-9, name)
  t.ok(Math.abs(first.figures['latency_ms/p50'] - 30) < 0.5)
  t.match(
    second.figures,
    { 'invalid/judge_timeout': 0, 'flags/odd': 0, 'reward/mean': 0.5 },
    'lines have no gaps',
  )
  t.equal((await exported(t, told, '--to', 'jsonl', '--run', 'run-2')).figures().length, 1)

  const none = await exported(t, [{ step: null }], '--to', 'tensorboard')
  t.match(none, { code: 1, stderr: /no row of this run has a training_step/ })
  const folder = t.testdir({ 'other.jsonl': '{"a":1}\n', empty: {} })
  const wrong = (path: string, ...args: string[]) =>
    runCommand(['export', join(folder, path), '--to', 'jsonl', '--output', join(folder, 'x'), ...args])
  t.match(await wrong('other.jsonl'), { code: 2, stderr: /no row is a line of a gateway's record/ })
  t.match(await wrong('empty'), { code: 2, stderr: /has no files of a record/ })
  t.match(await wrong('empty', '--online'), { code: 2, stderr: /--online is for --to wandb/ })
})

t.test("a gateway's own record has the figures of tokens that the docs list", async (t) => {
  const folder = t.testdir()
  const records = join(folder, 'records')
  const gateway = await testGateway(t, {
    gateway: { record: { folder: records } },
    r: { steps: [{ name: 'rule', function: 'echo-rule' }] },
  })
  const sample = sampleOf('1', { tokens: { prompt: 120, response: 512 } })
  await outcomesOf(gateway, 'r', [sample], { trainingStep: 3 })
  await gateway.close(0)
  const output = join(folder, 'out.jsonl')
  const { stdout } = await runCommand(['export', records, '--to', 'jsonl', '--output', output])
  t.equal(stdout, `1 step of 1 run: ${output}\n`)
  t.match(JSON.parse(readFileSync(output, 'utf8')).figures, {
    'rollout_tokens/prompt/mean': 120,
    'rollout_tokens/response/sum': 512,
  })
})

t.test("event files are byte for byte those of TensorBoard's own writer", async (t) => {
  const folder = t.testdir({})
  await writeEvents(folder, {
    steps: [
      { step: 1, time: 1700000000.5, figures: { 'reward/mean': 0.5, rows: 300 } },
      { step: 70000, time: 1700000100.25, figures: { 'reward/mean': -1.25, 'terms/größe/mean': 1e-3 } },
    ],
  })
  const own = readFileSync(join('test/fixtures/tensorboard', eventFile))
  t.ok(readFileSync(join(folder, eventFile)).equals(own))
  t.strictSame(readdirSync(folder), [eventFile])
})

t.test('a run named by a client stays in the folder, and a second export replaces the first', async (t) => {
  const runs = ['../../out', '..', '', 'a/b', 'a b', 'a_b', '.hidden', 'x'.repeat(400)]
  const { code, output } = await exported(
    t,
    runs.map((run) => ({ run })),
    '--to',
    'tensorboard',
  )
  t.equal(code, 0)
  const folders = readdirSync(output)
  t.equal(new Set(folders).size, runs.length)
  for (const name of folders) {
    t.match(name, /^[\w-][\w.-]{0,120}$/)
    t.ok(existsSync(join(output, name, 'quality', eventFile)))
  }
})

t.test('a Python without the client or wandb is named, with what to install', async (t) => {
  const missing = await exported(t, [{}], '--to', 'wandb', '--python', '/nowhere/python3')
  t.match(missing, { code: 2, stderr: /there is no such program/ })
  const bin = join(t.testdir({ bin: {} }), 'bin')
  mkdirSync(bin, { recursive: true })
  const python = join(bin, 'python')
  writeFileSync(python, '#!/bin/sh\necho "python: No module named reward_gateway_client" >&2\nexit 1\n', {
    mode: 0o755,
  })
  t.match(await exported(t, [{}], '--to', 'wandb', '--python', python), { code: 2 })
})

const python = process.env.EXPORT_PYTHON ?? ''
const skip = python === '' && 'EXPORT_PYTHON names a Python with tensorboard, wandb and the client'

t.test('TensorBoard and wandb read what is written', { skip }, async (t) => {
  const told = [1, 2, 12].flatMap((step) => [
    { step, reward: step / 16 },
    { step, reward: null },
  ])
  const { output } = await exported(t, told, '--to', 'tensorboard')
  const read = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
print(json.dumps({tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}))`
  const scalars = JSON.parse(
    execFileSync(python, ['-c', read, join(output, 'run-1', 'quality')], {
      stdio: ['ignore', 'pipe', 'ignore'],
    }).toString(),
  )
  t.strictSame(scalars['reward/mean'], [
    [1, 0.0625],
    [2, 0.125],
    [12, 0.75],
  ])
  t.strictSame(scalars['invalid/judge_timeout'], [
    [1, 0.5],
    [2, 0.5],
    [12, 0.5],
  ])

  const runs = await exported(t, told, '--to', 'wandb', '--python', python)
  t.equal(runs.code, 0, runs.stderr)
  const history = `
import glob, json, struct, sys
from wandb.proto import wandb_internal_pb2 as pb

def records(data):
    at, whole = 7, b""
    while at + 7 <= len(data):
        if at % 32768 > 32768 - 7:
            at += 32768 - at % 32768
        _, length, kind = struct.unpack("<IHB", data[at:at + 7])
        whole += data[at + 7:at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield whole
            whole = b""

for path in glob.glob(sys.argv[1] + "/wandb/offline-run-*/*.wandb"):
    for data in records(open(path, "rb").read()):
        record = pb.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = {"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in record.history.item}
            print(json.dumps([record.history.step.num, items["reward/mean"], items["invalid/judge_timeout"]]))`
  const rows = execFileSync(python, ['-c', history, runs.output], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.strictSame(
    rows
      .toString()
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text)),
    [
      [1, 0.0625, 0.5],
      [2, 0.125, 0.5],
      [12, 0.75, 0.5],
    ],
  )
})
