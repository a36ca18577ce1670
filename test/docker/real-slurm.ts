/**
 * The job script of docker/slurm on a real Slurm: `npm run test:slurm`. It needs Debian's packages slurm-wlm, munge and
 * haproxy, and runs as a user who is not root. Not one of the tests that `npm test` runs.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { freePorts } from '../support/free-ports.ts'
import { startSlurm } from './slurm-cluster.ts'

t.setTimeout(300_000)
for (const program of ['slurmctld', 'slurmd', 'munged', 'haproxy', 'curl'])
  if (spawnSync('which', [program]).status !== 0)
    throw new Error(`${program} is missing: apt-get install slurm-wlm munge haproxy curl`)

/** The unpacked tarball, with the program that this build made. */
function unpacked(folder: string): string {
  const gateway = join(folder, 'reward-gateway')
  mkdirSync(join(gateway, 'bin'), { recursive: true })
  cpSync('docker', join(gateway, 'docker'), { recursive: true })
  const program = join(gateway, 'bin/reward-gateway')
  writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} ${resolve('dist/src/cli/main.js')} "$@"\n`)
  chmodSync(program, 0o755)
  return gateway
}

const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const latest = Date.now() + 90_000
  while (!(await isSo())) {
    if (Date.now() > latest) throw new Error(`not within 90 s: ${what}`)
    await setTimeout(250)
  }
}

/** Samples of eight trainers that never try again, until `isOver`; what was not scored. */
async function trainersAt(url: string, isOver: () => boolean): Promise<{ scored: number; lost: string[] }> {
  const lost: string[] = []
  let scored = 0
  const body = JSON.stringify({ reward: 'exact', samples: [{ response: '42', ground_truth: '42' }] })
  const trainer = async () => {
    while (!isOver()) {
      const reply = await fetch(`${url}/v1/score`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      }).catch((error: Error) => ({ ok: false, status: 0, text: async () => String(error.cause ?? error) }))
      const text = await reply.text()
      if (reply.ok && JSON.parse(text).results[0].reward === 1) scored++
      else lost.push(`${reply.status} ${text}`)
      await setTimeout(20)
    }
  }
  await Promise.all(Array.from({ length: 8 }, trainer))
  return { scored, lost }
}

t.test('a rolling restart and the end of the job lose no sample', async (t) => {
  const cluster = await startSlurm()
  t.teardown(() => cluster.close())
  const { folder, run } = cluster
  const config = join(folder, 'rm-configs')
  const state = join(folder, 'gateway')
  mkdirSync(config)
  writeFileSync(join(config, 'gateway.yaml'), 'shutdown: { pre_stop_s: 2 }\n')
  writeFileSync(join(config, 'exact.yaml'), 'steps: [{ name: right, function: exact-match }]\n')
  mkdirSync(state, { mode: 0o777 })
  chmodSync(state, 0o777)
  const gateway = unpacked(folder)
  // Of the balancer, and the two behind it for the replicas.
  const [port = 0] = await freePorts(3)
  const script = join(gateway, 'docker/slurm/reward-gateway.sbatch')
  const settings = { GATEWAY: gateway, CONFIG: config, STATE: state, PORT: String(port), HAPROXY: 'haproxy' }
  const args = ['--parsable', '--cpus-per-task=1', `--output=${join(folder, 'log/job')}`, script]
  const job = (await run('sbatch', args, settings)).trim()
  const logs = () =>
    ['log/job', 'gateway/gateway-0.log', 'gateway/haproxy.log']
      .map((name) => join(folder, name))
      .map((path) => (existsSync(path) ? readFileSync(path, 'utf8') : ''))
      .join('\n')
  await until('the address', () => existsSync(join(state, 'address'))).catch((error) => {
    throw new Error(`${error.message}\n${logs()}`)
  })
  const url = readFileSync(join(state, 'address'), 'utf8').trim()
  t.equal(url, `http://127.0.0.1:${port}`)

  let isOver = false
  t.teardown(() => {
    isOver = true
  })
  const trainers = trainersAt(url, () => isOver)
  const steps = () => run('squeue', ['--steps', '-h', '-o', '%i %j'])
  const before = await steps()
  const said = await run('bash', [join(gateway, 'docker/slurm/rolling-restart.sh'), job, state])
  isOver = true
  const { scored, lost } = await trainers
  t.match(said, /gateway-0 is ready again\ngateway-1 is ready again/)
  t.not(await steps(), before, 'both steps are new')
  t.strictSame(lost, [])
  t.ok(scored > 100, `${scored} samples`)

  await run('scancel', ['--signal=TERM', '--batch', job])
  await until('the end of the job', async () => !(await run('squeue', ['-h', '-o', '%i'])).includes(job))
  t.notOk(existsSync(join(state, 'address')), 'no trainer finds a gateway that has ended')
  t.match(readFileSync(join(state, 'gateway-0.log'), 'utf8'), /ready|listening|at http/i)
})
