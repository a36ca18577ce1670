import { createHash } from 'node:crypto'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ListenerGuard } from '../../../src/core/listener-guard.ts'
import type { Sample } from '../../../src/core/sample/sample.ts'
import { RequestTimes } from '../../../src/core/stalls/request-times.ts'
import type { RequestDone } from '../../../src/scoring/engine/events.ts'
import { maxRows, RecentRows } from '../../../src/serving/telemetry/live/live.ts'
import {
  openRecord,
  type RecordParts,
  type RecordSettings,
} from '../../../src/serving/telemetry/record/record.ts'
import { recordFiles } from '../../../src/serving/telemetry/record/segments.ts'
import { fakeClock } from '../../support/clock.ts'
import { outcomesOf, sampleOf, testGateway, testModel } from '../../support/gateway.ts'
import { recordsIn, requestDone } from '../../support/records.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** The folder and servers of a gateway that has scored with a working judge and a failing one. */
const folder = join(t.testdir(), 'records')
const good = await testModel(
  t,
  1,
  { policy: 'constant', constant: 1 },
  { sampling: { temperature: 0.5, seed: 7 } },
)
const bad = await testModel(t, 2, { faults: [{ kind: '500' }] }, { retry: { pause_ms: 1 } })
const gateway = await testGateway(t, {
  gateway: { models: { judge: good.config, broken: bad.config }, record: { folder } },
  judged: {
    gate: 'rule == 1',
    steps: [
      { name: 'rule', function: 'echo-rule' },
      { name: 'quality', function: 'digit-judge', model: 'judge', weight: 0.5, votes: { n: 2 } },
    ],
  },
  failing: { steps: [{ name: 'q', function: 'digit-judge', model: 'broken' }] },
})
const rows = [
  sampleOf('1', { id: 'a', prompt: 'two?', group: { id: 'g' }, rmPrompts: { quality: 'own prompt' } }),
  sampleOf('0', { id: 'b' }),
  sampleOf('throw', { id: 'c' }),
  { id: 'd', failure: { kind: 'bad_sample', retryable: false, detail: 'no response' } as const },
]
await outcomesOf(gateway, 'judged', rows, { requestId: 'req', run: 'r1', trainingStep: 3 })
await outcomesOf(gateway, 'failing', [sampleOf('1')])
const { version } = gateway.reward('judged')
await gateway.close(0)
const recorded = await recordsIn(folder)

t.test('each row is recorded with its config, its judges and the calculation of its reward', async (t) => {
  const records = recorded.filter(({ config }) => config.reward === 'judged')
  t.strictSame(
    records.map(({ id, reward, failure }) => [id, reward, failure?.kind ?? null]),
    [
      ['req:0', 1.5, null],
      ['req:1', 0, null],
      ['req:2', null, 'rule_error'],
      ['req:3', null, 'bad_sample'],
    ],
  )
  const asked = {
    model: 'judge',
    instance: good.servers[0]?.url,
    source: 'call',
    attempts: 1,
    template: /^[0-9a-f]{64}$/,
    sampling: { temperature: 0.5 },
    answer: { sha256: sha256('1'), chars: 1 },
    verdict: 1,
    failure: null,
  }
  t.match(records[0], {
    config: { reward: 'judged', version, gate: 'rule == 1' },
    run: 'r1',
    training_step: 3,
    sample: { id: 'a', group: 'g', prompt: { sha256: sha256('two?') }, response: { sha256: sha256('1') } },
    terms: [
      {
        name: 'rule',
        score: 1,
        parts: { length: 1 },
        details: { seen: { sha256: sha256('1') } },
        asks: { length: 0 },
      },
      {
        name: 'quality',
        contribution: 0.5,
        draws: 2,
        asks: [
          { ...asked, draw: 0, seed: 7 },
          { ...asked, draw: 1, seed: 8 },
        ],
      },
    ],
  })
  t.match(records[1]?.terms[1], { status: 'off', why: 'gate', asks: { length: 0 } })
})

t.test('a failed question is recorded with every attempt', async (t) => {
  const [ask] = recorded.find(({ config }) => config.reward === 'failing')?.terms[0]?.asks ?? []
  t.match(ask, { verdict: null, answer: null, failure: { kind: 'judge_unreachable' } })
  t.ok((ask?.attempts ?? 0) >= 2)
  t.strictSame(
    new Set(ask?.failure?.attempts?.map(({ instance }) => instance)),
    new Set(bad.servers.map(({ url }) => url)),
  )
})

const settings = (folder: string, more: Partial<RecordSettings> = {}): RecordSettings => ({
  folder,
  text: 'hash',
  share: 1,
  maxFileBytes: 1 << 20,
  maxFileAgeMs: 3_600_000,
  maxTotalBytes: 1 << 30,
  ...more,
})

/** A recorder and its events. */
function recorder(given: RecordSettings, clock = fakeClock()) {
  const told = { written: 0, queue: 0, disk: 0, fault: 0, troubles: [] as (string | null)[] }
  const waiters: (() => void)[] = []
  const events: RecordParts['events'] = {
    written(rows) {
      told.written += rows
      for (const wake of waiters.splice(0)) wake()
    },
    dropped(rows, why) {
      told[why] += rows
      for (const wake of waiters.splice(0)) wake()
    },
    disk: (trouble) => void told.troubles.push(trouble),
  }
  const record = openRecord(given, { clock, guard: new ListenerGuard(clock), events, samplingOf: () => ({}) })
  const next = () => new Promise<void>((resolve) => waiters.push(resolve))
  /** Resolves once all rows are written or dropped. */
  const settle = async () => {
    const done = next()
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve))
    clock.advance(1000)
    await done
  }
  return { record, told, settle, clock }
}

t.test('only `full` keeps text; with `hash` and `none` no word of it is in the files', async (t) => {
  const word = 'SECRETWORD'
  const event = requestDone('q', [1], `so ${word}`)
  const [outcome] = event.outcomes
  if (outcome?.terms[0]?.status !== 'scored') throw new Error('a scored term is needed')
  const details = { extracted: word, deep: { [word]: [word] }, count: 3, right: true }
  const term = { ...outcome.terms[0], score: { value: 1, details } }
  const spoken = { ...event, outcomes: [{ ...outcome, terms: [term] }] }
  for (const text of ['full', 'hash', 'none'] as const) {
    const folder = join(t.testdir(), text)
    const { record } = recorder(settings(folder, { text }))
    record.done(spoken)
    await record.close()
    const [row] = await recordsIn(folder)
    t.equal(JSON.stringify(row).includes(word), text === 'full', text)
    t.match(row?.terms[0]?.details, text === 'full' ? details : { count: 3, right: true })
  }
})

t.test('files are closed by size and by age, and the oldest go when the folder is full', async (t) => {
  const folder = join(t.testdir(), 'records')
  const limits = { maxFileBytes: 4000, maxFileAgeMs: 60_000, maxTotalBytes: 9000 }
  const { record, told, settle, clock } = recorder(settings(folder, limits))
  for (let batch = 0; batch < 20; batch += 1) {
    record.done(
      requestDone(
        `${batch}`,
        Array.from({ length: 30 }, (_, index) => Math.sin(batch * 30 + index)),
      ),
    )
    await settle()
  }
  const files = await recordFiles(folder)
  t.ok(files.length >= 2, 'several files')
  t.ok(files.reduce((sum, file) => sum + statSync(file).size, 0) <= 9000 + 4000, 'the folder is bounded')
  for (const file of files) t.ok(statSync(file).size <= 4000)
  t.equal(told.written, 600)
  const kept = await recordsIn(folder)
  t.ok(kept.length < 600)
  t.equal(kept.at(-1)?.id, '19:29', 'the youngest stay')
  clock.advance(60_000)
  record.done(requestDone('late', [1]))
  await settle()
  const last = (await recordFiles(folder)).at(-1)
  t.not(last, files.at(-1), 'an old file is closed')
  await record.close()
})

t.test('a failing disk loses records but not scores; it is counted and reported once', async (t) => {
  const folder = join(t.testdir({ blocked: 'a file' }), 'blocked')
  const { record, told, settle } = recorder(settings(folder))
  for (const id of ['a', 'b']) {
    record.done(requestDone(id, [1, 0]))
    await settle()
  }
  t.strictSame([told.disk, told.written, told.troubles.length], [4, 0, 1])
  t.match(told.troubles[0], /EEXIST|ENOTDIR/)
  rmSync(folder)
  record.done(requestDone('c', [1]))
  await settle()
  t.strictSame([told.written, told.troubles.at(-1)], [1, null])
  await record.close()
  t.strictSame(
    (await recordsIn(folder)).map(({ id }) => id),
    ['c:0'],
  )
})

t.test(
  'rows beyond the queue are dropped and counted, and every row is either written or dropped',
  async (t) => {
    const folder = join(t.testdir(), 'records')
    const { record, told } = recorder(settings(folder, { share: 1 }))
    const rewards = new Array<number>(1000).fill(1)
    for (let at = 0; at < 80; at += 1) record.done(requestDone(`${at}`, rewards))
    const long = 'x'.repeat(1 << 16)
    for (let at = 0; at < 3; at += 1) record.done(requestDone(`long ${at}`, rewards, long))
    t.ok(told.queue >= 14_000, 'dropped at once')
    await record.close()
    t.equal(told.written + told.queue, 83_000)
  },
)

t.test('a recorded share has complete groups, and the same ones each time', async (t) => {
  const event = requestDone('s', new Array<number>(400).fill(1))
  const rows = event.rows.map((row, index) => ({ ...row, group: { id: `g${index >> 2}` } }))
  const chosen: string[][] = []
  for (const name of ['first', 'second']) {
    const folder = join(t.testdir(), name)
    const { record } = recorder(settings(folder, { share: 0.3 }))
    record.done({ ...event, rows })
    await record.close()
    chosen.push((await recordsIn(folder)).map(({ sample }) => sample.group ?? ''))
  }
  t.strictSame(chosen[0], chosen[1])
  const groups = new Set(chosen[0])
  t.ok(groups.size > 15 && groups.size < 50, `${groups.size} of 100 groups`)
  t.equal(chosen[0]?.length, groups.size * 4)
})

t.test('a truncated file yields the lines before its end', async (t) => {
  const folder = join(t.testdir(), 'records')
  const { record, settle } = recorder(settings(folder))
  for (const id of ['a', 'b']) {
    record.done(requestDone(id, [1]))
    await settle()
  }
  await record.close()
  const [file = ''] = await recordFiles(folder)
  // More than the trailer and the end of the block, so that part of the last line is missing.
  writeFileSync(file, readFileSync(file).subarray(0, -40))
  t.strictSame(
    (await recordsIn(folder)).map(({ id }) => id),
    ['a:0'],
  )
})

const request = {
  rows: [sampleOf('r')],
  outcomes: [],
  ms: new Float64Array(1),
  times: new RequestTimes(1, 0),
} as unknown as RequestDone

t.test('a kept row does not hold the rest of its request in memory', (t) => {
  const recent = new RecentRows(() => {})
  const rows = Array.from({ length: 100 }, (_, index) => sampleOf(`r${index}`))
  const ms = Float64Array.from(rows.keys())
  recent.take({ ...request, rows, outcomes: rows as never, ms }, 'a', 0, [], 0.5)
  const kept = recent.since(0)
  t.ok(kept.length > 1)
  for (const { id, event } of kept) {
    const index = Number(id.slice(2))
    t.strictSame([event.rows, [...event.ms]], [[rows[index]], [index]])
  }
  t.end()
})

t.test('every row is kept at low load, and a sample at high load', async (t) => {
  const recent = new RecentRows(() => {})
  for (let count = 0; count < 10; count++) recent.take(request, `rest ${count}`, count, [], 0)
  t.equal(recent.since(0).length, 10)
  const before = recent.newest
  for (let ms = 0; ms < 60_000; ms++) recent.take(request, `load ${ms}`, 1000 + ms, [], 0)
  const taken = recent.newest - before
  t.ok(taken >= 40 * 60 && taken <= 40 * 60 + maxRows, `${taken} of 60000`)
  const [oldest] = recent.since(0)
  t.ok((oldest?.at ?? 0) < 61_000 - 9000, 'what is shown goes back seconds')
})

t.test('rows without a reward are kept at a rate of their own', async (t) => {
  const recent = new RecentRows(() => {})
  for (let ms = 0; ms < 5000; ms++) recent.take(request, `scored ${ms}`, ms, [], 0)
  recent.take(request, 'failed', 5000, [0], 0)
  t.ok(recent.get('failed:0'))
  const before = recent.newest
  for (let ms = 0; ms < 10_000; ms++) recent.take(request, `failed ${ms}`, 5000 + ms, [0], 0)
  t.ok(recent.newest - before <= 2 * 40 * 10 + maxRows)
})

/** One large value for each field that a row, its outcome or its questions may have. */
const large = (count: number): Readonly<Record<string, (index: number) => RequestDone>> => {
  const text = (index: number) => `${index}`.padEnd(count, 'x')
  const of = (index: number, parts: Parameters<typeof sampleOf>[1]): RequestDone => {
    const event = requestDone(`${index}`, [1])
    return { ...event, rows: [sampleOf('r', parts)] }
  }
  return {
    prompt: (index) => of(index, { prompt: text(index) }),
    messages: (index) => of(index, { prompt: [{ role: 'user', content: text(index) }] }),
    'ground truth': (index) => of(index, { groundTruth: { deep: [{ deeper: text(index) }] } }),
    'extra info': (index) => of(index, { extraInfo: { [text(index)]: 1 } }),
    'judge prompts': (index) => of(index, { rmPrompts: { rule: text(index) } }),
    id: (index) => of(index, { id: text(index) }),
    details: (index) => {
      const event = requestDone(`${index}`, [1])
      return { ...event, outcomes: event.outcomes.map((one) => ({ ...one, flags: [text(index)] })) }
    },
  }
}

t.test('rows waiting to be recorded or shown are bounded by the bytes of all fields (M10)', async (t) => {
  const size = 1 << 20
  const most = 128 << 20
  for (const [field, eventOf] of Object.entries(large(size))) {
    const folder = join(t.testdir(), field.replace(' ', '-'))
    const { record, told } = recorder(settings(folder, { text: 'none' }))
    const count = 200
    for (let index = 0; index < count; index++) record.done(eventOf(index))
    const held = (count - told.queue) * size
    t.ok(held > most / 8 && held <= most, `${field}: ${held >> 20} MiB of ${count} wait`)
    const recent = new RecentRows(() => {})
    for (let index = 0; index < count; index++) recent.take(eventOf(index), `${index}`, 0, [], 0)
    const kept = recent.since(0).length
    t.ok(kept >= 1 && kept * size <= 32 << 20, `${field}: ${kept} rows are shown`)
    await record.close()
  }
})

t.test(
  'a row whose questions and answers do not fit is not recorded at all, rather than in part (M10)',
  async (t) => {
    const folder = join(t.testdir(), 'records')
    const { record, told } = recorder(settings(folder, { text: 'full' }))
    const events = Array.from({ length: 200 }, (_, index) => requestDone(`${index}`, [1]))
    for (const [index, event] of events.entries())
      record.voted({
        step: 'rule',
        samples: event.rows as Sample[],
        model: 'judge',
        draw: 0,
        template: '',
        question: 'q',
        sampling: null,
        ms: 1,
        answered: {
          answer: { text: `${index}`.padEnd(1 << 20, 'x'), finishReason: 'stop' },
          instance: 'a',
          source: 'call',
          attempts: 1,
          tokens: { prompt: 1, completion: 1 },
        },
        verdict: 1,
        failure: null,
      })
    for (const event of events) record.done(event)
    await record.close()
    const rows = await recordsIn(folder)
    t.equal(rows.length + told.queue, 200)
    t.ok(told.queue > 0 && rows.length > 0)
    t.ok(rows.every(({ terms }) => terms[0]?.asks.length === 1))
  },
)
