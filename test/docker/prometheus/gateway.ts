import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type SimulatedServer, startSimulatedServer } from '../../../src/simulator/server.ts'
import { freePort } from '../../support/free-ports.ts'

/** The keys of the gateway, by their names. */
export const keys = {
  trainer: 'trainer-key-0123456789',
  burst: 'burst-key-0123456789',
  scrape: 'scrape-key-0123456789',
  admin: 'admin-key-0123456789',
} as const

/** A gateway in a process of its own, and the simulated servers that it asks. */
export interface ObservedGateway {
  readonly target: string
  /** Servers of `judge`: two that are right, and one that always says 0. */
  readonly judges: readonly [SimulatedServer, SimulatedServer, SimulatedServer]
  /** Servers of the sandbox `fusion`. */
  readonly fusion: readonly [SimulatedServer, SimulatedServer]
  /** Ends the processes that run programs on this machine. */
  endZygotes(): void
  /** POSTs JSON; the status. */
  post(path: string, body: object, key?: keyof typeof keys): Promise<number>
  /** Submits a rollout; the status. */
  submit(run: string, uid: string, body: object): Promise<number>
  /** Writes a reward's config beside the others. */
  write(name: string, config: object): void
  close(): Promise<void>
}

export async function startObserved(): Promise<ObservedGateway> {
  const right = { model: 'judge', policy: 'constant', constant: '1' } as const
  const [a, b, wrong, broken, sleepy, first, second, wavering, surer] = await Promise.all([
    startSimulatedServer({ ...right, seed: 1, latencyMedianMs: 20, latencySigma: 1 }),
    startSimulatedServer({ ...right, seed: 2, latencyMedianMs: 20, latencySigma: 1 }),
    startSimulatedServer({ ...right, seed: 3, constant: '0' }),
    startSimulatedServer({ model: 'broken', faults: [{ kind: '500' }] }),
    startSimulatedServer({ ...right, model: 'sleepy' }),
    startSimulatedServer({ runner: 'sandbox', programs: [{ stdout: '1' }], latencyMedianMs: 20 }),
    startSimulatedServer({ runner: 'sandbox', programs: [{ stdout: '1' }], latencyMedianMs: 20 }),
    startSimulatedServer({ model: 'wavering', policy: 'constant', constant: 0.6 }),
    startSimulatedServer({ model: 'surer', policy: 'constant', constant: 1 }),
  ])
  const folder = mkdtempSync(join(tmpdir(), 'observed-'))
  const write = (name: string, config: object) =>
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(config))
  const judged = (model: string, more: object = {}) => ({
    name: 'q',
    function: 'digit-judge',
    model,
    ...more,
  })
  write('gateway', {
    queue: { folder: './queue' },
    models: {
      judge: {
        model: 'judge',
        instances: [a.url, b.url, wrong.url],
        max_in_flight: 4,
        hedge: { budget: 0.5, quantile: 0.5 },
        breaker: { failures: 3, open_s: 1 },
      },
      broken: {
        model: 'broken',
        instances: [broken.url],
        wait_for_instance: 1,
        retry: { pause_ms: 1, budget: 0 },
      },
      sleepy: { model: 'sleepy', instances: [sleepy.url], lifecycle: {} },
      wavering: { model: 'wavering', instances: [wavering.url], decide: { wire: 'vllm' } },
      surer: { model: 'surer', instances: [surer.url], decide: { wire: 'systemone' } },
    },
    sandboxes: {
      local: { programs: 1, isolation: 'unconfined' },
      fusion: {
        backend: 'sandbox-fusion',
        instances: [first.url, second.url],
        max_in_flight: 4,
        breaker: { failures: 3, open_s: 1 },
        retry: { pause_ms: 1 },
      },
    },
    keys: {
      trainer: { env: 'TRAINER', scopes: ['score'] },
      burst: { env: 'BURST', scopes: ['score'], rate_per_s: 1 },
      scrape: { env: 'SCRAPE', scopes: ['read'] },
      admin: { env: 'ADMIN', scopes: ['admin'] },
    },
    functions: { folders: [resolve('test/fixtures/functions')], timeout_s: 0.5 },
    canary: { every_s: 4, probes: { 'digit-judge': [{ name: 'right', response: '1', min: 1 }] } },
    record: { folder: join(folder, 'records') },
  })
  write('judged', {
    gate: 'rule == 1',
    steps: [{ name: 'rule', function: 'echo-rule' }, judged('judge', { op: 'add', votes: { n: 2 } })],
  })
  write('open', { steps: [judged('judge')] })
  write('broken', { steps: [judged('broken')] })
  const escalate = { below: 0.8, model: 'surer' }
  const options = { about: 'Answer: {response}' }
  write('decided', {
    steps: [{ name: 'q', function: 'decision-judge', model: 'wavering', escalate, options }],
  })
  // A template of its own: this judge would fail the canaries of the shipped one.
  const template = 'Answer: {response}\n'
  write('rubric', {
    steps: [{ name: 'q', function: 'rubric-judge', model: 'judge', options: { template } }],
  })
  write('sleepy', { steps: [judged('sleepy')] })
  for (const sandbox of ['local', 'fusion'])
    write(`${sandbox}-programs`, { steps: [{ name: 'tests', function: 'code-tests', sandbox }] })
  const port = await freePort()
  const child = spawn(
    process.execPath,
    ['dist/src/cli/main.js', 'serve', '--config', folder, '--port', String(port), '--log-level', 'fatal'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        TRAINER: keys.trainer,
        BURST: keys.burst,
        SCRAPE: keys.scrape,
        ADMIN: keys.admin,
      },
    },
  )
  const ended = once(child, 'exit')
  const target = `127.0.0.1:${port}`
  const isLive = () =>
    fetch(`http://${target}/livez`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isLive())) {
    if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}`)
    await setTimeout(200)
  }
  const send = async (
    method: string,
    path: string,
    body: object,
    key: keyof typeof keys,
  ): Promise<number> => {
    const response = await fetch(`http://${target}${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${keys[key]}` },
      body: JSON.stringify(body),
    })
    await response.arrayBuffer()
    return response.status
  }
  return {
    target,
    judges: [a, b, wrong],
    fusion: [first, second],
    endZygotes() {
      for (const task of readdirSync(`/proc/${child.pid}/task`))
        for (const pid of readFileSync(`/proc/${child.pid}/task/${task}/children`, 'utf8')
          .split(' ')
          .filter(Boolean))
          if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('zygote.py'))
            process.kill(Number(pid), 'SIGKILL')
    },
    write,
    post: (path, body, key = 'trainer') => send('POST', path, body, key),
    submit: (run, uid, body) => send('PUT', `/v1/runs/${run}/rollouts/${uid}`, body, 'trainer'),
    async close() {
      child.kill('SIGTERM')
      await ended
      await Promise.all([a, b, wrong, broken, sleepy, first, second].map((server) => server.close()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
