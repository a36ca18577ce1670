import { hash } from 'node:crypto'
import { readdirSync, renameSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { type Clock, systemClock } from '../../../src/core/clock.ts'
import { testApp } from '../../support/app.ts'
import { runCommand } from '../../support/command-line.ts'
import { until } from '../../support/models.ts'
import { judging, type Reply, rewards, rule, type World, worldOf } from '../../support/queue-world.ts'
import { recordsIn } from '../../support/records.ts'
import { newFolder } from '../../support/run-store.ts'
import { completion, type Script } from '../../support/scripted-server.ts'

t.test('a rollout is accepted once and its reward is read once, by cursor', async (t) => {
  const { put, get, post, finals } = await worldOf(t)
  const { status, json } = await put('u1', rule('4'))
  t.equal(status, 202)
  t.match(json, { uid: 'u1', attempt: 1, credits: { rollouts: Number, bytes: Number } })
  const [final] = await finals(1)
  t.match(final, { uid: 'u1', attempt: 1, state: 'scored', result: { id: 'u1', reward: 1, valid: true } })
  const held = await post('/v1/score', { reward: 'ruled', samples: [rule('4').sample] })
  t.strictSame(final.reward, held.json.reward, 'the final names the reward and the version of its config')
  t.strictSame((await get(`/v1/runs/a/rewards?after=${final.cursor}`)).json.results, [])
  const again = await put('u1', rule('4'))
  t.match(again.json, { attempt: 1, state: 'scored' })
  t.equal((await get('/v1/runs/a')).json.finals, 1, 'the same bytes are not scored again')
  t.match((await get('/v1/runs/a/rollouts/u1')).json, { state: 'scored', result: { reward: 1 } })
  await put('u2', { ...rule('x'), sample: { response: 5 } })
  const [, bad] = await finals(2)
  t.match(bad, { state: 'invalid', result: { reward: null, failure: { kind: 'bad_sample' } } })
  await put('u3', { ...rule(''), reward: 'failing', sample: { id: 'own', response: 5 } })
  t.match((await finals(3))[2], { uid: 'u3', state: 'invalid', result: { id: 'own', reward: null } })
})

t.test('a rollout arrives with its PUT: the record and the stalls count its time in the queue', async (t) => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let ahead = 0
  const folder = newFolder()
  const { put, finals, app } = await worldOf(
    t,
    { max_running: 1 },
    async (seen) => {
      await held
      return completion(seen, '1')
    },
    { wallClock: () => Date.now() + ahead },
    {},
    { record: { folder } },
  )
  const judged = (response: string) => ({ reward: 'judged', training_step: 1, sample: { response } })
  await put('first', judged('one'))
  await put('queued', judged('two'))
  ahead = 60_000
  release()
  await finals(2)
  await app.close()
  const waits = (await recordsIn(folder)).map(({ time, arrived, spent }) => ({
    ms: Date.parse(String(time)) - Date.parse(String(arrived)),
    causes: (spent ?? []).map(({ cause }) => cause),
  }))
  t.equal(waits.length, 2)
  const [, queued] = waits.sort((a, b) => a.ms - b.ms)
  t.ok((queued?.ms ?? 0) >= 60_000, `${queued?.ms} ms`)
  t.equal(queued?.causes[0], 'gateway')
})

t.test('metrics say what is in the queue', async (t) => {
  const { put, finals, app } = await worldOf(t)
  await put('u', rule('4'))
  await put('g', { reward: 'ranked', sample: { response: 'x', group_id: 'g', group_size: 2 } })
  await finals(1)
  const { body } = await app.inject({ method: 'GET', url: '/metrics' })
  t.match(body, /reward_gateway_queue_unfinished\{run="a"\} 1\n/)
  t.match(body, /reward_gateway_queue_finals_total\{run="a"\} 1\n/)
  t.match(body, /reward_gateway_queue_commit_duration_seconds_count [2-9]\n/)
  t.match(body, /reward_gateway_queue_disk_failing 0\n/)
})

t.test('the backlog of each run says by name what its rollouts wait for', async (t) => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const { put, get, finals } = await worldOf(
    t,
    { max_running: 2 },
    async (seen) => {
      await held
      return completion(seen, '1')
    },
    {},
    { max_in_flight: 1 },
  )
  t.match((await get('/v1/queue')).json, { unfinished: 0, total_runs: 0, runs: [] })
  const judged = (response: string) => ({ reward: 'judged', training_step: 3, sample: { response } })
  for (const uid of ['1', '2', '3']) await put(uid, judged(uid))
  await put('g', { reward: 'ranked', sample: { response: 'x', group_id: 'seven', group_size: 4 } })
  await put('other', { reward: 'ranked', sample: { response: 'x', group_id: 'g', group_size: 2 } }, 'b')
  const shown = async () => (await get('/v1/queue')).json
  let now = await shown()
  while (now.runs[0].waits.length < 4 || now.running < 2) now = await shown()
  const [a, b] = now.runs
  t.match(now, { unfinished: 5, running: 2, total_runs: 2, disk_failing: false })
  t.match(a, { run: 'a', unfinished: 4, running: 2, finals: 0, last_stall: null })
  t.strictSame(
    a.waits.map(({ cause, name, rollouts }: Reply['json']) => [cause, name, rollouts].join()).sort(),
    ['answer,judge,1', 'group,,1', 'line,judge,1', 'queue,,1'],
  )
  t.match(a.groups, [{ group: 'seven', here: 1, size: 4 }])
  t.ok(a.oldest_s >= 0 && a.deadline_s > 3000 && a.accepted_per_s > 0)
  t.match(b, { run: 'b', unfinished: 1, running: 0, waits: [{ cause: 'group', rollouts: 1 }] })
  release()
  await finals(3)
  t.match((await shown()).runs[0], { unfinished: 1, running: 0, finals: 3, groups: [{ group: 'seven' }] })
  t.match((await get('/v1/queue?limit=1')).json, { total_runs: 2, runs: { length: 1 } })
  t.equal((await get('/v1/queue?limit=0')).status, 400)
})

t.test('a batch: one bad line does not cost the others', async (t) => {
  const { lines, finals } = await worldOf(t)
  const { status, json } = await lines([
    { uid: 'a', ...rule('4') },
    '{"uid": "b"',
    { uid: 'c c', ...rule('4') },
    { uid: 'd', ...rule('4'), reward: 'rulde' },
    { uid: 'e', ...rule('5') },
    '',
    { uid: '__proto__', ...rule('4') },
  ])
  t.equal(status, 202)
  t.match(json.results, [
    { uid: 'a', attempt: 1 },
    { line: 2, error: { code: 'RG_REQUEST_INVALID' } },
    { line: 3, error: { message: /uid/ } },
    { line: 4, uid: 'd', error: { code: 'RG_REWARD_UNKNOWN', message: /ruled/ } },
    { uid: 'e', attempt: 1 },
    { uid: '__proto__', attempt: 1 },
  ])
  const all = await finals(3)
  t.strictSame(all.map(({ uid, result }) => [uid, result.reward]).sort(), [
    ['__proto__', 1],
    ['a', 1],
    ['e', 0],
  ])
})

t.test('a batch of which no line was accepted says of each line why', async (t) => {
  const { lines, app } = await worldOf(t, { max_rollouts: 1 }, async (seen) => {
    await seen.closed
    return undefined
  })
  const judged = (more: object = {}) => ({ reward: 'judged', sample: { response: 'x' }, ...more })
  const bad = [{ uid: 'a', ...judged({ reward: 'rulde' }) }, '{"uid"', { uid: 'c', ...judged({ afer: 1 }) }]
  const refused = await lines(bad)
  t.equal(refused.status, 404)
  t.match(refused.json, {
    error: { code: 'RG_REWARD_UNKNOWN', message: /ruled/, problems: [], request_id: String },
    results: [
      { line: 1, uid: 'a', error: { code: 'RG_REWARD_UNKNOWN', message: /ruled/, status: 404 } },
      { line: 2, uid: null, error: { code: 'RG_REQUEST_INVALID', message: /JSON/, status: 400 } },
      { line: 3, uid: 'c', error: { code: 'RG_REQUEST_INVALID', message: /afer/, status: 400 } },
    ],
    credits: { rollouts: 1 },
  })
  t.equal((await lines([{ uid: 'first', ...judged() }])).status, 202)
  const full = await lines([...bad, { uid: 'later', ...judged() }])
  t.equal(full.status, 429, 'one of them may be accepted later')
  t.ok(Number(full.headers['retry-after']) >= 1)
  t.match(full.json.error, { code: 'RG_OVERLOADED' })
  t.strictSame(
    full.json.results.map((one: Reply['json']) => one.error.status),
    [404, 400, 400, 429],
  )
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const stdin = bad.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  const sent = await runCommand(['submit', '-', '--url', url, '--run', 'a'], { stdin })
  t.match(sent, { code: 1, stdout: '0 rollouts accepted, 3 refused\n' })
  t.equal(sent.stderr.match(/^refused: /gm)?.length, 3)
})

t.test('other bytes replace an attempt, and its questions are cancelled', async (t) => {
  let asked = 0
  let closed = 0
  const { put, finals, get } = await worldOf(t, {}, async (seen) => {
    asked += 1
    if (!JSON.stringify(seen.body).includes('longer')) {
      await seen.closed
      closed += 1
      return undefined
    }
    return completion(seen, '1')
  })
  const judged = (response: string, more: object = {}) => ({
    reward: 'judged',
    sample: { response },
    ...more,
  })
  await put('u', judged('short'))
  await until(() => asked > 0)
  t.equal((await get('/v1/runs/a/rollouts/u')).json.state, 'running')
  t.equal((await put('u', judged('short and longer'))).json.attempt, 2)
  t.match(await finals(1), [{ uid: 'u', attempt: 2, state: 'scored' }])
  await until(() => closed > 0)
  t.match(
    (await put('u', judged('short'))).json,
    { attempt: 1, state: 'replaced' },
    'a late copy replaces nothing',
  )
  t.equal((await put('u', judged('third', { attempt: 2 }))).status, 409)
  t.equal((await get('/v1/runs/a')).json.finals, 1)
})

t.test('cancelling by uid, by group and by version of the policy', async (t) => {
  const { put, post, finals } = await worldOf(t, {}, async (seen) => {
    await seen.closed
    return undefined
  })
  const judged = (more: object) => ({ reward: 'judged', sample: { response: 'x', ...more } })
  await put('u', judged({}))
  await put('g1', judged({ group_id: 'g' }))
  await put('g2', judged({ group_id: 'g' }))
  await put('old', judged({ policy_version: { first: 3, last: 9 } }))
  await put('new', judged({ policy_version: 9 }))
  t.equal((await post('/v1/runs/a/cancel', { uid: 'u' })).json.cancelled, 1)
  t.equal((await post('/v1/runs/a/cancel', { group: 'g' })).json.cancelled, 2)
  t.equal((await post('/v1/runs/a/cancel', { policy_version_below: 9 })).json.cancelled, 1)
  t.equal((await post('/v1/runs/a/cancel', { uid: 'u' })).json.cancelled, 0, 'once')
  t.equal((await post('/v1/runs/a/cancel', {})).status, 400)
  t.equal((await post('/v1/runs/b/cancel', { uid: 'u' })).json.cancelled, 0)
  const all = await finals(4)
  t.strictSame(
    all.map(({ uid }) => uid),
    ['u', 'g1', 'g2', 'old'],
  )
  for (const { state, result } of all)
    t.match({ state, result }, { state: 'cancelled', result: { reward: null } })
})

t.test('what was cancelled is recorded once, whether it was being scored or waited', async (t) => {
  const folder = newFolder()
  const hanging: Script = async (seen) => {
    await seen.closed
    return undefined
  }
  const world = await worldOf(t, { max_running: 1 }, hanging, {}, {}, { record: { folder, share: 1 } })
  const { put, lines, post, finals, get, app } = world
  await put('scored', { reward: 'judged', sample: { response: 'x' } })
  while ((await get('/v1/queue')).json.running === 0) await new Promise(setImmediate)
  const uids = Array.from({ length: 300 }, (_, k) => `queued${k}`)
  await lines(uids.map((uid) => ({ uid, reward: 'judged', sample: { response: 'x' } })))
  await put('waiting', { reward: 'ranked', sample: { response: 'x', group_id: 'g', group_size: 2 } })
  t.equal((await post('/v1/runs/a/cancel', { uid: 'scored' })).json.cancelled, 1)
  t.equal((await post('/v1/runs/a/cancel', { uid: 'waiting' })).json.cancelled, 1)
  for (const uid of uids) t.equal((await post('/v1/runs/a/cancel', { uid })).json.cancelled, 1)
  await finals(302)
  await app.close()
  const rows = await recordsIn(folder)
  t.strictSame(rows.map(({ sample }) => sample.id).sort(), ['scored', 'waiting', ...uids].sort())
  t.strictSame([...new Set(rows.map(({ failure }) => failure?.kind))], ['cancelled'])
})

t.test('a group waits for its answers, and ends by its deadline by name', async (t) => {
  const { put, finals, get } = await worldOf(t)
  const one = (group: string, response: string, more: object = {}) => ({
    reward: 'ranked',
    sample: { response, group_id: group, group_size: 3 },
    ...more,
  })
  await put('1', one('whole', 'x'))
  await put('2', one('whole', 'xx'))
  t.equal((await get('/v1/runs/a/rollouts/1')).json.state, 'waiting')
  await put('3', one('whole', 'xxx'))
  t.strictSame(
    (await finals(3)).map(({ uid, result }) => [uid, result.reward]),
    [
      ['1', 0],
      ['2', 0.5],
      ['3', 1],
    ],
  )
  await put('4', one('part', 'x', { deadline_s: 1 }))
  await put('5', one('part', 'xx', { deadline_s: 1 }))
  const late = (await finals(5)).slice(3)
  for (const { state, result } of late)
    t.match(
      [state, result],
      ['invalid', { reward: null, failure: { kind: 'group_incomplete', detail: /'part' has 2 of its 3/ } }],
    )
  const some = { reward: 'ranked-some', deadline_s: 4 }
  await put('6', one('some', 'x', some))
  await put('7', one('some', 'xx', some))
  t.strictSame(
    (await finals(7))
      .slice(5)
      .map(({ result }) => result.reward)
      .sort(),
    [0, 1],
    'group.min are enough',
  )
  const { status, json } = await put('8', { reward: 'ranked', sample: { response: 'x', group_id: 'g' } })
  t.equal(status, 400)
  t.match(json.error.message, /group_size/)
})

t.test('answers of a group that end together are ended once', async (t) => {
  const folder = newFolder()
  const { put, finals, app } = await worldOf(t, {}, judging, {}, {}, { record: { folder } })
  const one = { reward: 'ranked', deadline_s: 1, sample: { response: 'x', group_id: 'g', group_size: 4 } }
  await Promise.all(['1', '2', '3'].map((uid) => put(uid, one)))
  await finals(3)
  await app.close()
  const kinds = (await recordsIn(folder)).map(({ failure }) => failure?.kind)
  t.strictSame(kinds, Array(3).fill('group_incomplete'))
})

t.test('a group that is judged by its rubric is gathered on disk too', async (t) => {
  const { put, finals, get } = await worldOf(t, {}, (seen) => completion(seen, '{"a1": "yes", "a2": "no"}'))
  const one = (response: string) => ({
    reward: 'rubric',
    sample: { prompt: 'q', response, ground_truth: [{ text: 'x' }], group_id: 'g', group_size: 2 },
  })
  await put('1', one('x'))
  t.equal((await get('/v1/runs/a/rollouts/1')).json.state, 'waiting')
  await put('2', one('y'))
  t.strictSame((await finals(2)).map(({ result }) => result.reward).sort(), [0, 1])
})

t.test('an answer whose deadline passes while its group is scored gets its final', async (t) => {
  let ahead = 0
  const hanging: Script = async (seen) => {
    await seen.closed
    return undefined
  }
  const { put, finals, get } = await worldOf(t, {}, hanging, { wallClock: () => Date.now() + ahead })
  const one = (group: string, more: object = {}) => ({
    reward: 'judged-ranked',
    sample: { response: 'x', group_id: group, group_size: 2 },
    ...more,
  })
  await put('early', one('g', { deadline_s: 20 }))
  await put('late', one('g', { deadline_s: 600 }))
  let state = ''
  while (state !== 'running') {
    await new Promise(setImmediate)
    ;({ state } = (await get('/v1/runs/a/rollouts/early')).json)
  }
  // Its final tells that the deadlines of this time were looked at.
  await put('alone', one('z', { deadline_s: 20 }))
  ahead = 60_000
  await finals(1)
  await put('late', one('other', { deadline_s: 600 }))
  t.match((await finals(2))[1], {
    uid: 'early',
    state: 'invalid',
    result: { failure: { kind: 'group_incomplete' } },
  })
})

t.test('hostile names and bodies are refused, and leave nothing on disk', async (t) => {
  const folder = newFolder()
  const { put, get, lines, post, finals } = await worldOf(t, { folder })
  for (const run of [
    '..',
    '..%2F..%2Fetc',
    'a%2Fb',
    '%00',
    'r'.repeat(129),
    '%E2%80%AE',
    'a%20b',
    '%F0%9F%98%80',
  ])
    t.not((await put('u', rule('4'), run)).status, 202, run)
  for (const uid of ['a b', 'é', '\u202e', 'u'.repeat(201), '\n'])
    t.equal((await put(uid, rule('4'))).status, 400, JSON.stringify(uid))
  t.strictSame(readdirSync(folder), ['lock'])
  for (const body of [
    '',
    '[]',
    '{"reward":"ruled"}',
    '{"reward":"ruled","sample":[]}',
    '{"reward":"ruled","sample":{},"x":1}',
    '{"reward":"ruled","sample":{"response":"a\\u0000"}',
    'NaN',
  ])
    t.equal((await put('u', body)).status, 400, body)
  t.equal((await put('u', rule('4', { priority: 11 }))).status, 400)
  t.equal((await put('u', rule('4', { deadline_s: -1 }))).status, 400)
  t.equal((await put('u', rule('4', { reward: '__proto__' }))).status, 404)
  t.equal((await post('/v1/runs/a/rollouts', [])).status, 415)
  t.equal((await lines([' '])).status, 400)
  t.strictSame(readdirSync(folder), ['lock'], 'what was refused is not on disk')
  for (const uid of ['../../../etc/passwd', '__proto__', 'constructor', '%2e%2e', '"}{'])
    t.match((await put(uid, rule('4'), '__proto__')).json, { uid }, uid)
  t.match((await get(`/v1/runs/__proto__/rollouts/${encodeURIComponent('../../../etc/passwd')}`)).status, 200)
  t.equal(readdirSync(folder).filter((name) => /^run-[0-9a-f]{32}$/.test(name)).length, 1)
  const deep = `{"reward":"ruled","sample":{"response":"4","extra_info":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}}`
  t.equal((await put('deep', deep, '__proto__')).status, 202)
  t.match((await finals(6, '__proto__')).at(-1), {
    state: 'invalid',
    result: { failure: { kind: 'bad_sample' } },
  })
  t.equal((await get('/v1/runs/toString')).status, 404)
  t.equal((await get('/v1/runs/a/rollouts/constructor')).status, 404)
})

t.test('cursors: not of this run, not of this gateway, expired', async (t) => {
  const { put, finals, get } = await worldOf(t)
  t.match(
    (await get('/v1/runs/a/rewards')).json,
    { results: [], cursor: '' },
    'a run may be read before it exists',
  )
  await put('u', rule('4'))
  const [{ cursor }] = await finals(1)
  await put('u', rule('4'), 'b')
  await finals(1, 'b')
  t.equal((await get(`/v1/runs/b/rewards?after=${cursor}`)).status, 410)
  t.equal((await get(`/v1/runs/none/rewards?after=${cursor}`)).status, 410)
  t.equal(
    (await get(`/v1/runs/a/rewards?after=${cursor.replace(/\d+$/, '99')}`)).json.error.code,
    'RG_CURSOR_UNKNOWN',
  )
  t.equal((await get('/v1/runs/a/rewards?after=7')).status, 400)
  t.equal((await get('/v1/runs/a/rewards?wait_s=61')).status, 400)
  t.equal((await get('/v1/runs/a/rewards?afer=7')).status, 400)
})

t.test('a cursor that is not known is refused with the oldest one that is', async (t) => {
  let ahead = 0
  let maintain = () => {}
  const clock: Clock = {
    ...systemClock,
    after(ms, fn) {
      if (ms === 5000) maintain = fn
      return systemClock.after(ms, fn)
    },
  }
  const { put, finals, get } = await worldOf(t, { keep_s: 3600 }, judging, {
    clock,
    wallClock: () => Date.now() + ahead,
  })
  for (const uid of ['1', '2', '3']) await put(uid, rule('4'))
  const [first] = await finals(3)
  ahead = 3600_000
  await put('4', rule('4'))
  const [, , , fourth] = await finals(4)
  ahead += 1000
  maintain()
  while ((await get('/v1/runs/a')).json.expired < 3) await new Promise(setImmediate)
  const old = await get(`/v1/runs/a/rewards?after=${first.cursor}`)
  t.equal(old.status, 410)
  t.match(old.json.error, { code: 'RG_CURSOR_UNKNOWN', lost: 2, message: /2 finals/ })
  const left = await get(`/v1/runs/a/rewards?after=${old.json.error.cursor}`)
  t.match(left.json.results, [{ uid: '4', cursor: fourth.cursor }])
  const early = await get(`/v1/runs/a/rewards?partials=true&after=${first.cursor}-0`)
  t.equal(early.json.error.cursor, `${old.json.error.cursor}-0`)
  const future = await get(`/v1/runs/a/rewards?after=${fourth.cursor.replace(/\d+$/, '99')}`)
  t.match(future.json.error, { cursor: old.json.error.cursor, lost: null })
  const none = await get(`/v1/runs/none/rewards?after=${first.cursor}`)
  t.match([none.status, none.json.error], [410, { cursor: '', lost: null }])
})

t.test('a reader that waits gets the next final at once', async (t) => {
  const { put, get } = await worldOf(t)
  const early = get('/v1/runs/a/rewards?wait_s=60')
  await put('u', rule('4'))
  const { json } = await early
  t.match(json.results, [{ uid: 'u' }])
  const later = get(`/v1/runs/a/rewards?wait_s=60&after=${json.cursor}`)
  await put('v', rule('4'))
  t.match((await later).json.results, [{ uid: 'v' }])
})

t.test('readers that wait are bounded, of all runs together: streams and long polls', async (t) => {
  const { put, get, app } = await worldOf(t, { max_readers: 2 })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const gone = new AbortController()
  const stream = async (signal?: AbortSignal) =>
    fetch(`${url}/v1/runs/a/rewards`, {
      headers: { accept: 'text/event-stream' },
      ...(signal && { signal }),
    })
  t.equal((await stream(gone.signal)).status, 200)
  const polled = get('/v1/runs/b/rewards?wait_s=60')
  const full = await stream()
  t.equal(full.status, 429)
  t.ok(Number(full.headers.get('retry-after')) >= 1)
  t.match(await full.json(), { error: { code: 'RG_OVERLOADED', message: /2 readers.*max_readers is 2/ } })
  const second = await get('/v1/runs/c/rewards?wait_s=1')
  t.match([second.status, second.json.error.code], [429, 'RG_OVERLOADED'])
  t.match(second.json.credits, { rollouts: Number })
  t.equal((await get('/v1/runs/c/rewards')).status, 200, 'a reader that does not wait has its answer')
  await put('u', rule('4'), 'b')
  t.match((await polled).json.results, [{ uid: 'u' }])
  t.equal((await get('/v1/runs/c/rewards?wait_s=0.01')).status, 200, 'a place is free again')
  gone.abort()
  const held = [new AbortController(), new AbortController()]
  for (const one of held) while ((await stream(one.signal)).status !== 200) await pause(10)
  for (const one of held) one.abort()
})

t.test('server-sent events: each final once, also over two connections', async (t) => {
  const { put, finals, app } = await worldOf(t)
  for (const uid of ['a', 'b', 'c']) await put(uid, rule('4'))
  const all = await finals(3)
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const read = async (headers: object, count: number): Promise<string[]> => {
    const gone = new AbortController()
    const reply = await fetch(`${origin}/v1/runs/a/rewards`, {
      headers: { accept: 'text/event-stream', ...headers },
      signal: gone.signal,
    })
    t.equal(reply.headers.get('content-type'), 'text/event-stream')
    let text = ''
    for await (const chunk of reply.body ?? []) {
      text += Buffer.from(chunk).toString()
      if ((text.match(/^data: .*\n\n/gm) ?? []).length >= count) break
    }
    gone.abort()
    return text.split('\n\n').filter((block) => block.startsWith('event: final'))
  }
  const [first = ''] = await read({}, 3)
  const id = /^id: (.*)$/m.exec(first)?.[1] ?? ''
  t.equal(id, all[0].cursor)
  const rest = await read({ 'last-event-id': id }, 2)
  t.strictSame(
    rest.map((block) => JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '').uid),
    all.slice(1).map(({ uid }) => uid),
  )
  const pending = read({ 'last-event-id': all[2].cursor }, 1)
  await put('d', rule('4'))
  t.match(await pending, [/"uid":"d"/])
})

t.test(
  'early results: the rules at once if asked for, then one final, by one cursor over a restart',
  async (t) => {
    const folder = newFolder()
    let isHolding = true
    const script: Script = async (seen) => {
      if (isHolding) await seen.closed
      return completion(seen, '1')
    }
    const mixed = (response: string, more: object = {}) => ({
      ...{ reward: 'mixed', partial: true },
      sample: { response, ground_truth: '4' },
      ...more,
    })
    const first = await worldOf(t, { folder }, script)
    const read = (world: World, query: string) => world.get(`/v1/runs/a/rewards?wait_s=20&${query}`)
    await first.put('asked', mixed('4'))
    await first.put('quiet', mixed('quiet', { partial: false }))
    const early = (await read(first, 'partials=true')).json
    t.match(early, {
      results: [],
      partials: [
        { uid: 'asked', attempt: 1, state: 'partial', terms: { rule: { status: 'scored', score: 1 } } },
      ],
      unfinished: 2,
    })
    const [partial] = early.partials
    t.strictSame(
      Object.keys(partial),
      ['uid', 'attempt', 'state', 'cursor', 'at', 'terms'],
      'no result, no reward',
    )
    t.strictSame(Object.keys(partial.terms), ['rule'])
    t.equal(partial.cursor, early.cursor)
    t.notOk('partials' in (await first.get('/v1/runs/a/rewards')).json, 'only a reader that asks gets them')
    t.match((await first.get('/v1/runs/a/rollouts/asked')).json, { state: 'running' })
    await first.put('ruled', rule('4', { partial: true }))
    const ruled = (await read(first, `partials=true&after=${early.cursor}`)).json
    t.match(ruled, { results: [{ uid: 'ruled', state: 'scored' }] })
    t.strictSame(ruled.partials, [], 'a reward of rules alone has only its final')
    await first.app.close()

    const second = await worldOf(t, { folder }, script)
    t.match(
      (await read(second, 'partials=true')).json.partials,
      [{ uid: 'asked', cursor: /-1$/ }],
      'again from the beginning',
    )
    await second.put('asked', mixed('5'))
    const newer = (await read(second, `partials=true&after=${ruled.cursor}`)).json
    t.match(newer, { results: [], partials: [{ uid: 'asked', attempt: 2, terms: { rule: { score: 0 } } }] })
    t.equal(newer.partials.length, 1, 'what was found again after the restart is not told again')
    isHolding = false
    await second.put('asked', mixed('4', { attempt: 3 }))
    let cursor = newer.cursor
    const seen: string[] = []
    while (!seen.includes('final asked 3')) {
      const { json } = await read(second, `partials=true&after=${cursor}`)
      if (json.cursor === cursor) throw new Error('no more comes')
      ;({ cursor } = json)
      seen.push(...json.partials.map((one: Reply['json']) => `partial ${one.uid} ${one.attempt}`))
      seen.push(...json.results.map((one: Reply['json']) => `final ${one.uid} ${one.attempt}`))
    }
    t.notOk(
      seen.some((one) => one === 'partial asked 1' || one === 'partial asked 2' || one === 'partial quiet 1'),
    )
    t.equal(seen.filter((one) => one.startsWith('final asked')).length, 1)
    t.ok(seen.indexOf('partial asked 3') < seen.indexOf('final asked 3'))
    const all = (await read(second, 'partials=true')).json
    t.strictSame(all.partials, [], 'what has its final has no early result')
    t.match(
      (await second.get(`/v1/runs/a/rewards?after=${early.cursor}`)).json.results[0],
      {
        uid: 'ruled',
        cursor: /^[0-9a-f]{12}-1$/,
      },
      'a reader of finals may go on with this cursor',
    )
    for (const [cursor, status] of [
      [early.cursor.replace(/\d+$/, '99'), 410],
      [`${early.cursor}-1`, 400],
      [early.cursor.replace(/-0-1$/, '-0-'), 400],
    ])
      t.equal((await second.get(`/v1/runs/a/rewards?partials=true&after=${cursor}`)).status, status, cursor)
    t.equal((await second.put('u', mixed('4', { partial: 'yes' }))).status, 400)
    isHolding = true
    const url = await second.app.listen({ port: 0, host: '127.0.0.1' })
    const reading = fetch(`${url}/v1/runs/a/rewards?partials=true`, {
      headers: { accept: 'text/event-stream', 'last-event-id': all.cursor },
    })
    await second.put('streamed', mixed('streamed'))
    const told: string[] = []
    for await (const chunk of (await reading).body ?? []) {
      told.push(
        ...(Buffer.from(chunk)
          .toString()
          .match(/^(event|id): .*$/gm) ?? []),
      )
      if (told.length === 2) await second.post('/v1/runs/a/cancel', { uid: 'streamed' })
      if (told.length >= 4) break
    }
    const [id = '', finals = 0] = all.cursor.split('-')
    t.strictSame(
      told.map((line) => line.replace(/-\d+$/, '')),
      ['event: partial', `id: ${id}-${finals}`, 'event: final', `id: ${id}-${Number(finals) + 1}`],
    )
    const printed = await runCommand([
      'rewards',
      '--url',
      url,
      '--run',
      'a',
      '--partials',
      '--after',
      early.cursor,
    ])
    t.match(printed, { code: 0, stdout: /"uid":"ruled"/ })
  },
)

t.test('beyond the bounds, rollouts are refused with 429 and a time', async (t) => {
  const { put, lines, post } = await worldOf(t, { max_rollouts: 2, max_runs: 2 }, async (seen) => {
    await seen.closed
    return undefined
  })
  const judged = { reward: 'judged', sample: { response: 'x' } }
  t.equal((await put('1', judged)).json.credits.rollouts, 1)
  const batch = await lines([
    { uid: '2', ...judged },
    { uid: '3', ...judged },
  ])
  t.equal(batch.status, 202)
  t.match(batch.json.results, [
    { uid: '2', attempt: 1 },
    { uid: '3', error: { code: 'RG_OVERLOADED' } },
  ])
  t.ok(Number(batch.headers['retry-after']) >= 1)
  const full = await put('3', judged)
  t.equal(full.status, 429)
  t.match(full.json.error.message, /max_rollouts/)
  t.match(full.json.credits, { rollouts: 0, bytes: Number, questions: Number }, 'it says what is accepted')
  t.ok(Number(full.headers['retry-after']) >= 1)
  t.equal((await put('1', judged)).status, 202, 'what is there may be sent again')
  await post('/v1/runs/a/cancel', { uid: '1' })
  t.equal((await put('3', judged)).status, 202)
})

t.test(
  'credits count questions: what judges cannot answer soon is refused with 429 and a time',
  async (t) => {
    const { put, post, get } = await worldOf(t, { max_questions: 4 }, async (seen) => {
      await seen.closed
      return undefined
    })
    const asking = (reward: string, response: string) => ({ reward, sample: { response } })
    t.match((await put('1', asking('voted', 'a'))).json.credits, { questions: 1 })
    const full = await put('2', asking('voted', 'b'))
    t.equal(full.status, 429)
    t.match(full.json.error.message, /about 3 questions, and queue.max_questions is 4/)
    t.ok(Number(full.headers['retry-after']) >= 1)
    t.equal((await put('3', rule('4'))).status, 202, 'a rule asks nothing')
    t.match((await put('4', asking('judged', 'c'))).json.credits, { questions: 0 })
    t.equal((await put('5', asking('judged', 'd'))).status, 429)
    t.equal(
      (await put('4', asking('judged', 'newer'))).status,
      202,
      'a newer attempt takes the place of the older',
    )
    t.equal((await put('1', asking('voted', 'a'))).status, 202, 'what is there may be sent again')
    t.match(
      (await get('/v1/runs/a/rewards')).json.credits,
      { questions: 0 },
      'a reader sees the credits, too',
    )
    t.match((await post('/v1/runs/a/cancel', { uid: '1' })).json, { cancelled: 1, credits: { questions: 3 } })
    t.equal((await put('5', asking('judged', 'd'))).status, 202)
  },
)

t.test('a rollout that asks more than queue.max_questions is accepted when it is the only one', async (t) => {
  const { put, finals } = await worldOf(t, { max_questions: 1 })
  t.equal((await put('1', { reward: 'voted', sample: { response: 'a' } })).status, 202)
  await finals(1)
})

t.test('the bounds hold for one run more and for newer attempts', async (t) => {
  const { put, get, finals } = await worldOf(t, { max_runs: 2, max_bytes: 1 << 20 })
  t.equal((await put('1', rule('4'))).status, 202)
  t.equal((await put('1', rule('4'), 'b')).status, 202)
  const run = await put('1', rule('4'), 'c')
  t.equal(run.status, 429)
  t.match(run.json.error.message, /max_runs is 2/)
  const long = (attempt: number) => rule(`${attempt}`.padEnd(200_000))
  const statuses: number[] = []
  for (let attempt = 1; attempt <= 12; attempt += 1) statuses.push((await put('1', long(attempt))).status)
  t.equal(statuses[0], 202)
  t.equal(statuses.at(-1), 429)
  await finals(1)
  t.ok((await get('/v1/runs/a')).json.bytes < 1 << 20, 'a uid that is sent anew does not fill the disk')
  t.equal((await put('1', long(1))).status, 202, 'bytes that are there may be sent again')
})

t.test('a full disk: no 202, and nothing is lost of what was accepted', async (t) => {
  let isFull = false
  const folder = newFolder()
  let maintain = () => {}
  const clock: Clock = {
    ...systemClock,
    after(ms, fn) {
      if (ms === 5000) maintain = fn
      return systemClock.after(ms, fn)
    },
  }
  const openFile = (async (...args: Parameters<typeof open>) => {
    const handle = await open(...args)
    const own = handle.datasync.bind(handle)
    const datasync = async () => {
      if (isFull) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
      return own()
    }
    return Object.assign(handle, { datasync }) as FileHandle
  }) as typeof open
  const troubles: (string | null)[] = []
  const disk = (trouble: string | null) => void troubles.push(trouble)
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const { put, finals, get } = await worldOf(
    t,
    { folder },
    async (seen) => {
      await held
      return completion(seen, '1')
    },
    { openFile, events: { disk }, clock },
  )
  await put('kept', { reward: 'judged', sample: { response: 'x' } })
  isFull = true
  const refused = await put('u', rule('4'))
  t.equal(refused.status, 503)
  t.match(refused.json.credits, { rollouts: Number })
  t.match(refused.json.error, { code: 'RG_DISK_FAILED', message: /disk is full/ })
  t.ok(Number(refused.headers['retry-after']) >= 1)
  t.equal((await put('u', rule('4'), 'never')).status, 503)
  release()
  t.strictSame(
    (await get('/v1/runs/a/rewards?wait_s=1')).json.results,
    [],
    'a final that is not on disk is not read',
  )
  isFull = false
  t.match(await finals(1), [{ uid: 'kept', state: 'scored' }])
  t.equal((await put('u', rule('4'))).status, 202)
  t.equal((await finals(2)).length, 2)
  const runs = async () => (await get('/v1/runs')).json.runs.map(({ run }: Reply['json']) => run)
  t.strictSame((await runs()).sort(), ['a', 'never'])
  maintain()
  await until(() => readdirSync(folder).length === 2)
  t.strictSame(await runs(), ['a'], 'a run whose first rollout was never on disk leaves nothing behind')
  t.equal((await put('u', rule('4'), 'never')).status, 202)
  t.strictSame(troubles, ['the disk is full', null])
})

t.test('a restart: what was accepted is scored, cursors go on', async (t) => {
  const folder = newFolder()
  let isHolding = true
  const script: Script = async (seen) => {
    if (isHolding) await seen.closed
    return completion(seen, '1')
  }
  const first = await worldOf(t, { folder }, script)
  await first.put('ruled', rule('4'))
  await first.put('judged', { reward: 'judged', sample: { response: 'x' } })
  await first.put('waits', { reward: 'ranked', sample: { response: 'x', group_id: 'g', group_size: 2 } })
  const [{ cursor }] = await first.finals(1)
  const waiting = first.get(`/v1/runs/a/rewards?wait_s=60&after=${cursor}`)
  await first.app.close()
  t.strictSame((await waiting).json.results, [], 'a reader that waits is answered')
  isHolding = false
  const { get, put } = await worldOf(t, { folder }, script)
  const { json } = await get(`/v1/runs/a/rewards?wait_s=20&after=${cursor}`)
  t.match(json.results, [{ uid: 'judged', state: 'scored' }])
  t.equal((await get('/v1/runs/a/rollouts/waits')).json.state, 'waiting')
  await put('other', { reward: 'ranked', sample: { response: 'xx', group_id: 'g', group_size: 2 } })
  const after = await get(`/v1/runs/a/rewards?wait_s=20&after=${json.cursor}`)
  t.match(after.json.results, [{ result: { reward: 0 } }, { result: { reward: 1 } }])
})

t.test(
  'a run is moved to another gateway with its folder: cursors go on, and the rest is scored there',
  async (t) => {
    const [from, to] = [newFolder(), newFolder()]
    const first = await worldOf(t, { folder: from }, async (seen) => {
      await seen.closed
      return undefined
    })
    await first.put('ruled', rule('4'))
    await first.put('judged', { reward: 'judged', sample: { response: 'x' } })
    const [{ cursor }] = await first.finals(1)
    await first.app.close()
    const name = `run-${hash('sha256', 'a').slice(0, 32)}`
    t.strictSame(readdirSync(from), [name], 'as the page says')
    renameSync(join(from, name), join(to, name))
    const { get } = await worldOf(t, { folder: to })
    const { json } = await get(`/v1/runs/a/rewards?wait_s=20&after=${cursor}`)
    t.match(json.results, [{ uid: 'judged', attempt: 1, state: 'scored' }])
    const back = await worldOf(t, { folder: from })
    t.equal((await back.get(`/v1/runs/a/rewards?after=${cursor}`)).status, 410, 'the first has it no more')
  },
)

t.test('submit and rewards: the commands of the queue', async (t) => {
  const { app } = await worldOf(t)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const target = ['--url', url, '--run', 'cli']
  const lines = [
    JSON.stringify({ uid: 'whole', ...rule('4') }),
    JSON.stringify({ id: 'row', response: '5', ground_truth: '4' }),
    JSON.stringify({ response: '4', ground_truth: '4' }),
    'not JSON',
  ].join('\n')
  const sent = await runCommand(['submit', '-', ...target, '--reward', 'ruled'], { stdin: lines })
  t.equal(sent.code, 1)
  t.match(sent.stdout, '3 rollouts accepted, 1 refused')
  t.match(sent.stderr, /refused: .*not valid JSON/)
  const stop = new AbortController()
  const seen: string[] = []
  const followed = await runCommand(['rewards', ...target, '--follow'], {
    signal: stop.signal,
    onStdout: (text) => {
      seen.push(...text.trim().split('\n'))
      if (seen.length === 3) stop.abort()
    },
  })
  t.equal(followed.code, 0)
  const finals = seen.map((line) => JSON.parse(line))
  t.strictSame(finals.map(({ uid, result }) => [uid, result.reward]).sort(), [
    ['3', 1],
    ['row', 0],
    ['whole', 1],
  ])
  const rest = await runCommand(['rewards', ...target, '--after', finals[1].cursor])
  t.strictSame(rest.stdout.trim(), seen[2])
  t.match(await runCommand(['rewards', ...target, '--after', 'x']), {
    code: 2,
    stderr: /after: is not a cursor/,
  })
  t.match(await runCommand(['submit', '/no/such', ...target]), { code: 2, stderr: /does not exist/ })
  t.match(await runCommand(['rewards']), { code: 2, stderr: /--run is needed/ })
})

t.test('without queue.folder there are no runs, and the reply says why', async (t) => {
  const app = await testApp(t, { ruled: rewards.ruled })
  for (const [method, url, type] of [
    ['GET', '/v1/runs/a/rewards'],
    ['GET', '/v1/queue'],
    ['GET', '/v1/runs'],
    ['PUT', '/v1/runs/a/rollouts/u', 'application/json'],
    ['POST', '/v1/runs/a/rollouts', 'application/x-ndjson'],
  ] as const) {
    const headers = type && { 'content-type': type }
    const reply = await app.inject({ method, url, ...(headers && { headers, payload: '{}' }) })
    t.equal(reply.statusCode, 404, url)
    t.match(reply.json().error.message, /the queue is off: .* gateway.yaml .*folder/, url)
  }
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const sent = await runCommand(['submit', '-', '--url', url, '--run', 'a'], { stdin: '{"uid":"u"}' })
  t.match(sent, { code: 2, stderr: /the queue is off/ })
})
