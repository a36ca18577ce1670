import { hash } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, cpSync, renameSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { type Clock, systemClock } from '../../src/core/clock.ts'
import { startSimulatedServer } from '../../src/simulator/server.ts'
import { freePorts } from '../support/free-ports.ts'
import { fixtureFunctions } from '../support/gateway.ts'
import { Replica, startBalancer, startHaproxy, withoutHaproxy } from '../support/replicas.ts'
import { until } from '../support/simulated.ts'

/** Trainers a proxy, each with one sample under way; more for a figure than for a test. */
const load = Number(process.env.LOAD ?? 2)

interface Answer {
  readonly status: number
  readonly replica: string | null
  // biome-ignore lint/suspicious/noExplicitAny: bodies of replies and of errors
  readonly body: any
}

async function post(url: string, reward: string, sample: object, group?: string): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...(group && { 'x-reward-gateway-group': group }) }
  const body = JSON.stringify({ reward, samples: [sample] })
  const answer = await fetch(`${url}/v1/score`, { method: 'POST', headers, body })
  return {
    status: answer.status,
    replica: answer.headers.get('x-reward-gateway-replica'),
    body: jsonOf(await answer.text()),
  }
}

/** A proxy's own errors are no JSON. */
function jsonOf(text: string): Answer['body'] {
  try {
    return JSON.parse(text)
  } catch {
    return { text }
  }
}

/** The system's clock, whose timers can be held: what a judge has begun then lasts until it is told to go on. */
function heldClock() {
  let isHeld = false
  const held = new Set<() => void>()
  const clock: Clock = {
    ...systemClock,
    after(ms, fn) {
      if (!isHeld) return systemClock.after(ms, fn)
      held.add(fn)
      return () => void held.delete(fn)
    },
  }
  return {
    clock,
    hold() {
      isHeld = true
    },
    goOn() {
      isHeld = false
      for (const fn of held) fn()
      held.clear()
    },
  }
}

t.test('two replicas behind one address', async (t) => {
  const { clock, hold, goOn } = heldClock()
  const judge = await startSimulatedServer({
    clock,
    model: 'm',
    policy: 'constant',
    constant: 1,
    latencyMedianMs: 200,
  })
  t.teardown(() => judge.close())
  const model = { model: 'm', instances: [judge.url], cache: 'never', health: { interval_s: 0 } }
  // HAProxy asks twice a second and believes the second no.
  const settings = { models: { judge: model }, shutdown: { pre_stop_s: 2 } }
  const configsOf = (name: string) => ({
    'gateway.json': JSON.stringify({ ...settings, queue: { folder: `../queue-${name}` } }),
    'judged.json': JSON.stringify({ steps: [{ name: 'q', function: 'digit-judge', model: 'judge' }] }),
    'ranked.json': JSON.stringify({
      group: { wait_s: 60 },
      steps: [{ name: 'rank', function: 'rank-rule' }],
    }),
  })
  const folder = t.testdir({ a: configsOf('a'), b: configsOf('b') })
  const ports = await freePorts(2)
  const replicas = ports.map((port, at) => {
    const config = join(folder, at === 0 ? 'a' : 'b')
    return new Replica(t, port, ['--config', config, '--reward-functions', fixtureFunctions])
  })
  await Promise.all(replicas.map((replica) => replica.start()))
  const proxies = [await startBalancer(t, ports)]
  if (!withoutHaproxy) proxies.push(await startHaproxy(t, ports))

  await t.test('the answers of a held group meet at one', { skip: withoutHaproxy }, async (t) => {
    const haproxy = proxies[1] ?? ''
    const groups = Array.from({ length: 8 }, (_, i) => `prompt ${i}`)
    const answers = await Promise.all(
      groups.flatMap((group) =>
        [0, 1, 2, 3].map(async (index) => {
          const place = { group_id: group, group_size: 4, group_index: index }
          const sample = { id: `${index}`, prompt: group, response: String(index), ...place }
          return { group, ...(await post(haproxy, 'ranked', sample, encodeURIComponent(group))) }
        }),
      ),
    )
    for (const { status, body, group } of answers)
      t.match({ status, body }, { status: 200, body: { results: [{ valid: true }] } }, group)
    const meeting = groups.map(
      (group) => new Set(answers.filter((one) => one.group === group).map(({ replica }) => replica)),
    )
    t.ok(meeting.every(({ size }) => size === 1))
    t.equal(new Set(meeting.flatMap((met) => [...met])).size, 2, 'groups are spread over both')
  })

  await t.test('a rolling restart under load loses no sample and scores none twice', async (t) => {
    let isOver = false
    let serial = 0
    const wrong: Answer[] = []
    const trainer = async (url: string, worker: number) => {
      while (!isOver) {
        const id = String(serial++)
        // Half of them with a group, since a proxy sends those again in a way of its own.
        const answer = await post(url, 'judged', { id, response: `1 ${id}` }, worker % 2 ? id : undefined)
        const [result] = answer.body.results ?? []
        if (answer.status !== 200 || result.id !== id || result.reward !== 1) wrong.push(answer)
      }
    }
    const trainers = proxies.flatMap((url) =>
      Array.from({ length: load }, (_, worker) => trainer(url, worker)),
    )
    for (const replica of replicas) {
      const before = serial
      t.equal(await replica.stop(), 0)
      await replica.start()
      t.ok(serial > before, 'the other one scores meanwhile')
    }
    isOver = true
    await Promise.all(trainers)
    t.strictSame(wrong, [], `of ${serial} samples`)
    t.equal(judge.stats().sequences.finished, serial, 'each was judged once')
    t.comment(`${serial} samples behind ${proxies.length} proxies`)
  })

  await t.test('what a killed replica was asked is asked again', { skip: withoutHaproxy }, async (t) => {
    const haproxy = new URL(proxies[1] ?? '')
    const sockets = await Promise.all(
      [0, 1, 2, 3].map(async (id) => {
        const socket = connect(Number(haproxy.port), haproxy.hostname)
        const body = JSON.stringify({
          reward: 'judged',
          samples: [{ id: `${id}`, response: `1 killed ${id}` }],
        })
        const fields = ['host: x', 'content-type: application/json', 'connection: close']
        await once(socket, 'connect')
        // Python's clients send headers and body apart too.
        socket.write(
          ['POST /v1/score HTTP/1.1', ...fields, `content-length: ${body.length}`, '', ''].join('\r\n'),
        )
        return { socket, body }
      }),
    )
    // An answer that HAProxy gives after it read the headers.
    await (await fetch(new URL('/livez', haproxy))).text()
    hold()
    const answers = sockets.map(({ socket, body }) => {
      socket.write(body)
      return text(socket)
    })
    await until(() => judge.stats().running === sockets.length)
    await replicas[0]?.kill()
    goOn()
    for (const answer of await Promise.all(answers)) t.match(answer, /^HTTP\/1\.1 200 .*"reward":1,/s)
  })
  await t.test(
    'a run of the queue stays at one, and moves with its folder',
    { skip: withoutHaproxy },
    async (t) => {
      await replicas[0]?.start()
      let haproxy = proxies[1] ?? ''
      const put = async (run: string, uid: string, size: number) => {
        const sample = { response: uid, group_id: 'g', group_size: size }
        const reply = await fetch(`${haproxy}/v1/runs/${run}/rollouts/${uid}`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ reward: 'ranked', sample }),
        })
        await reply.arrayBuffer()
        return { status: reply.status, replica: reply.headers.get('x-reward-gateway-replica') }
      }
      const read = async (run: string, after: string) => {
        const reply = await fetch(`${haproxy}/v1/runs/${run}/rewards?wait_s=20&after=${after}`)
        // biome-ignore lint/suspicious/noExplicitAny: a reply
        return { replica: reply.headers.get('x-reward-gateway-replica'), json: (await reply.json()) as any }
      }
      const runs = Array.from({ length: 12 }, (_, k) => `step:${k}`)
      const homes = new Map<string, string | null>()
      const cursors = new Map<string, string>()
      for (const run of runs) {
        const [one, two] = [await put(run, 'a', 2), await put(encodeURIComponent(run), 'b', 2)]
        t.strictSame([one.status, two.status], [202, 202])
        const { json, replica } = await read(run, '')
        t.strictSame([one.replica, two.replica], [replica, replica], run)
        t.equal(json.results.length, 2)
        homes.set(run, replica)
        cursors.set(run, json.cursor)
        // The first of a group that is not complete.
        await put(run, 'c', 2)
      }
      t.equal(new Set(homes.values()).size, 2, 'runs are spread over both')

      const [first, second] = replicas as [Replica, Replica]
      t.equal(await first.stop(), 0)
      const [own = ''] = runs.filter((run) => homes.get(run) === 'gateway-0')
      t.equal((await put(own, 'd', 2)).status, 503, 'nobody else answers for a run while its replica is away')
      t.equal(await second.stop(), 0)
      const name = `run-${hash('sha256', own).slice(0, 32)}`
      renameSync(join(folder, 'queue-a', name), join(folder, 'queue-b', name))
      const balancer = join(folder, 'haproxy')
      cpSync('docker/haproxy', balancer, { recursive: true })
      appendFileSync(join(balancer, 'runs.map'), `${own} gateway-1\n`)
      await Promise.all([first.start(), second.start()])
      haproxy = await startHaproxy(t, ports, balancer)
      for (const run of runs) {
        const home = run === own ? 'gateway-1' : homes.get(run)
        t.strictSame(await put(run, 'd', 2), { status: 202, replica: home }, run)
        const { json, replica } = await read(run, cursors.get(run) ?? '')
        t.equal(replica, home)
        t.strictSame(
          json.results.map(({ uid, state }: { uid: string; state: string }) => `${uid} ${state}`).sort(),
          ['c scored', 'd scored'],
          'the cursor goes on, and what waited is scored',
        )
      }
    },
  )
  await Promise.all(replicas.map((replica) => replica.stop()))
})
