import { createReadStream, createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import t from 'tap'
import { ListenerGuard } from '../../../src/core/listener-guard.ts'
import type { Sample } from '../../../src/core/sample/sample.ts'
import { detailOf } from '../../../src/serving/telemetry/live/shown-row.ts'
import { openRecord } from '../../../src/serving/telemetry/record/record.ts'
import { linesOf, recordFiles } from '../../../src/serving/telemetry/record/segments.ts'
import type { TextPolicy } from '../../../src/serving/telemetry/record/text-policy.ts'
import { readNativeSample } from '../../../src/trainers/native.ts'
import { fakeClock } from '../../support/clock.ts'
import { runCommand } from '../../support/command-line.ts'
import { recordsIn, requestDone } from '../../support/records.ts'

const fixture = join('test/fixtures/records/format-1.jsonl')
const secret = 'SECRETWORD'
const call = (name: string, given: unknown) => ({ id: `id-${secret}`, function: { name, arguments: given } })
const image = { type: 'image_url', image_url: { url: `https://host.invalid/${secret}.png` } }
const png = { type: 'image_url', image_url: { url: 'data:image/png;base64,cGl4ZWxz' } }

/** A rollout with the word in every field that comes from a policy, a tool or a data set. */
const rollout = {
  id: 'agent',
  prompt: [{ role: 'user', content: [{ type: 'text', text: `What does ${secret} show?` }, image, png] }],
  response: [
    {
      role: 'assistant',
      content: `Let me look for ${secret}.`,
      reasoning_content: `hm, ${secret}`,
      tool_calls: [call(`look_${secret}`, JSON.stringify({ at: secret })), call('look', `{"at": ${secret}`)],
      further: secret,
    },
    { role: 'tool', tool_call_id: `id-${secret}`, name: `tool-${secret}`, content: `found ${secret}` },
    {
      role: 'tool',
      content: [
        { type: 'text', text: secret },
        { type: 'input_audio', input_audio: { data: secret } },
        { type: 'refusal', refusal: secret },
        png,
      ],
    },
    { role: 'assistant', content: `It is ${secret}.` },
  ],
  status: 'truncated',
  tokens: { prompt: 12, response: 34 },
  policy_version: { first: 7, last: 'eight' },
  environment: { won: 1 },
}

const sampleOf = (row: object): Sample => {
  const read = readNativeSample(row, 0)
  if ('failure' in read) throw new Error(read.failure.detail)
  return read
}

/** Records these rows; resolves with the folder. */
async function recordedIn(folder: string, text: TextPolicy, rows: readonly Sample[]): Promise<string> {
  const clock = fakeClock()
  const record = openRecord(
    { folder, text, share: 1, maxFileBytes: 1 << 24, maxFileAgeMs: 1e9, maxTotalBytes: 1 << 30 },
    { clock, guard: new ListenerGuard(clock), samplingOf: () => ({}) },
  )
  record.done({ ...requestDone('q', Array(rows.length).fill(1)), rows })
  await record.close()
  return folder
}

t.test('a rollout is recorded with its turns and calls; only `full` keeps a word of it', async (t) => {
  const place = t.testdir()
  for (const text of ['full', 'hash', 'none'] as const) {
    const folder = await recordedIn(join(place, text), text, [sampleOf(rollout)])
    const [row] = await recordsIn(folder)
    t.equal(JSON.stringify(row).includes(secret), text === 'full', text)
    t.match(row, {
      format: 2,
      sample: {
        status: 'truncated',
        tokens: { prompt: 12, response: 34 },
        policy_version: { first: 7, last: 'eight' },
        environment: { won: 1 },
        counts: { turns: 4, tool_calls: 2, malformed_calls: 1 },
        turns: [{ role: 'assistant', tool_calls: [{}, { malformed: true }] }, { role: 'tool' }, {}, {}],
      },
    })
    t.match(row?.sample.turns?.[2]?.content, [
      {},
      { type: 'other', name: 'input_audio' },
      { type: 'refusal' },
      { type: 'image', size: 6, media_type: 'image/png', sha256: text === 'none' ? null : /^[0-9a-f]{64}$/ },
    ])
    const told = (await runCommand(['explain', 'q:0', '--records', folder])).stdout
    t.match(told, /rollout of 4 turns, 2 calls, 1 malformed/)
    t.match(told, /status truncated, 12 \+ 34 tokens, policy version 7 to "eight", environment "won" 1/)
    t.match(told, /image image\/png, 6 bytes/)
    if (text === 'full')
      t.match(told, new RegExp(`0\\. assistant calls "look_${secret}" with .*1\\. tool`, 's'))
    else t.notMatch(told, new RegExp(secret))
  }
})

t.test('the line of a text grows by nothing but the number of the format and its times', async (t) => {
  const folder = await recordedIn(t.testdir(), 'full', [sampleOf({ prompt: 'p', response: 'r' })])
  const [row] = await recordsIn(folder)
  t.strictSame(Object.keys(row?.sample ?? {}), [
    'id',
    'data_source',
    'group',
    'prompt',
    'response',
    'ground_truth',
  ])
  const [first = ''] = readFileSync(fixture, 'utf8').split('\n')
  t.strictSame(
    Object.keys(row ?? {}).filter((key) => !['format', 'arrived', 'spent'].includes(key)),
    Object.keys(JSON.parse(first)),
  )
})

t.test(
  'a rollout of 10 MB is cut with a note, in the record and on the page, and still counted',
  async (t) => {
    const turn = (index: number) => ({ role: 'assistant', content: `${index} `.padEnd(1 << 20, 'x') })
    const sizes: readonly [what: string, turns: readonly object[]][] = [
      ['long turns', Array.from({ length: 10 }, (_, index) => turn(index))],
      ['one long turn', [{ role: 'tool', content: '\u{1f600}'.repeat(5 << 20) }, turn(1)]],
      ['short turns', Array.from({ length: 4000 }, () => ({ role: 'assistant', content: 'x' }))],
      ['calls', [{ role: 'assistant', tool_calls: Array(30_000).fill({ name: 'f', arguments: {} }) }]],
      [
        'arguments',
        [{ role: 'assistant', tool_calls: [{ name: 'f', arguments: { x: 'y'.repeat(10 << 20) } }] }],
      ],
      ['parts', [{ role: 'assistant', content: Array(30_000).fill({ type: 'refusal', refusal: 'x' }) }]],
    ]
    const rows = sizes.map(([id, response]) =>
      sampleOf({ id, response, prompt: id === 'parts' ? response : 'q' }),
    )
    for (const text of ['full', 'hash'] as const) {
      const folder = await recordedIn(join(t.testdir(), text), text, rows)
      const kept = await recordsIn(folder)
      for (const [at, [what, sent]] of sizes.entries()) {
        const row = kept[at]
        if (!row) throw new Error('a row is missing')
        const { prompt, response: _, ...own } = row.sample
        const length = JSON.stringify(own).length
        t.ok(length < 5_000_000, `${what}, ${text}: ${length}`)
        t.equal(own.counts?.turns, sent.length, what)
        const turns = own.turns ?? []
        t.equal(turns.length + (own.turns_left_out ?? 0), sent.length)
        const isCut =
          /more characters\]/.test(JSON.stringify(turns)) || turns.some(({ left_out: left }) => left)
        t.ok(isCut || own.turns_left_out || text === 'hash' || what === 'short turns', `${what}: has a note`)
        const event = { ...requestDone('q', [1]), rows: [rows[at] as Sample] }
        const shown = detailOf({ id: 'q:0', at: 0, event }, { answers: [], tests: [] }, text)
        t.ok(JSON.stringify(shown).length < 700_000, `${what}: ${JSON.stringify(shown).length} for the page`)
        t.equal((shown.sample.turns?.length ?? 0) + (shown.sample.turns_left_out ?? 0), sent.length)
      }
    }
  },
)

t.test('records of format 1 are explained and analyzed like those of format 2', async (t) => {
  const place = t.testdir({ records: {} })
  const folder = join(place, 'records')
  const file = join(folder, 'record-20261101T000000000Z-0123abcd-000001.jsonl.gz')
  await pipeline(createReadStream(fixture), createGzip(), createWriteStream(file))
  t.strictSame(new Set((await recordsIn(folder)).map(({ format }) => format)), new Set([1]))
  const told = (await runCommand(['explain', 'req-full:0', '--records', folder])).stdout
  t.match(told, /prompt "What is 2 \+ 2\?"\n {2}response "It is 4\.\\n#### 4"\n/)
  t.match(told, /1\. rule: score 1; .*2\. judge: score .*reward = /s)
  await recordedIn(folder, 'hash', [sampleOf(rollout)])
  const mixed = join(place, 'both.jsonl')
  const lines: string[] = []
  for (const one of await recordFiles(folder)) for await (const line of linesOf(one)) lines.push(line)
  writeFileSync(mixed, lines.join('\n'))
  const ran = await runCommand(['analyze', mixed, '--format', 'json'])
  t.match(JSON.parse(ran.stdout), { files: [mixed] }, ran.stderr)
  const broken = '\ud83d \\\\ud83d'
  const halves = sampleOf({ id: broken, prompt: broken, response: [{ role: 'tool', content: broken }] })
  await recordedIn(place, 'full', [halves])
  const [last = ''] = await recordFiles(place)
  t.match((await recordsIn(place))[0]?.sample.turns, [{ content: '\ufffd \\\\ud83d' }])
  t.match(await runCommand(['analyze', last]), { code: 0 }, 'half of a character makes no file unreadable')
  t.match(await runCommand(['diff', mixed, mixed]), { code: 0, stdout: /\b7 +0 +0 +0\b/ })
})

t.test('the segments of a rollout are recorded, and explain shows where each begins', async (t) => {
  const segments = [{ response: 'I look.' }, { prompt: 'found', response: 'It is 4.' }]
  const folder = await recordedIn(t.testdir(), 'full', [sampleOf({ prompt: 'q', response: { segments } })])
  t.match((await recordsIn(folder))[0]?.sample, { segments: [0, 1], counts: { turns: 3 } })
  const told = (await runCommand(['explain', 'q:0', '--records', folder])).stdout
  t.match(
    told,
    /segment 0:\n {4}0\. assistant "I look\."\n {4}segment 1:\n {4}1\. environment "found"\n {4}2\. assistant/,
  )
})

t.test('rewards of steps are recorded, and explain shows them', async (t) => {
  const clock = fakeClock()
  const folder = t.testdir()
  const record = openRecord(
    { folder, text: 'none', share: 1, maxFileBytes: 1 << 24, maxFileAgeMs: 1e9, maxTotalBytes: 1 << 30 },
    { clock, guard: new ListenerGuard(clock), samplingOf: () => ({}) },
  )
  const steps = Array.from({ length: 22 }, (_, at) => ({ turn: 0, end: at + 1, value: at / 4 }))
  const done = requestDone('q', [1, 1])
  const outcomes = done.outcomes.map((outcome, at) => ({
    ...outcome,
    terms: outcome.terms.map((term) =>
      term.status === 'scored' && at === 0 ? { ...term, score: { ...term.score, steps } } : term,
    ),
  }))
  record.done({ ...done, outcomes } as typeof done)
  await record.close()
  const [first, second] = await recordsIn(folder)
  t.strictSame(first?.terms[0]?.steps, steps)
  t.notOk('steps' in (second?.terms[0] ?? {}))
  const { stdout } = await runCommand(['explain', 'q:0', '--records', folder])
  t.match(stdout, /^ +22 steps: 0, 0\.25, .*, 4\.75, …$/m)
})
