import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePorts } from '../support/free-ports.ts'

/** The user of everything here, if the test itself runs as root: nobody of Debian. */
const unprivileged = process.getuid?.() === 0 ? 65534 : undefined

/** A Slurm cluster of two nodes on this machine, in a folder of its own, without root. Needs Debian's slurm-wlm and munge. */
export interface SlurmCluster {
  readonly folder: string
  /** The output of a command, run by the user that the cluster knows. */
  run(program: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<string>
  close(): Promise<void>
}

export async function startSlurm(): Promise<SlurmCluster> {
  // A socket's path has at most 107 characters.
  const folder = mkdtempSync(join(tmpdir(), 'slurm-'))
  const own = (path: string) => unprivileged !== undefined && chownSync(path, unprivileged, unprivileged)
  own(folder)
  for (const name of ['state', 'spool-node0', 'spool-node1', 'log']) {
    mkdirSync(join(folder, name))
    own(join(folder, name))
  }
  writeFileSync(join(folder, 'munge.key'), randomBytes(1024), { mode: 0o400 })
  own(join(folder, 'munge.key'))
  const ports = await freePorts(3)
  writeFileSync(join(folder, 'slurm.conf'), configOf(folder, ports), { mode: 0o644 })

  const base = { SLURM_CONF: join(folder, 'slurm.conf'), PATH: process.env.PATH, HOME: folder }
  const identity = { uid: unprivileged, gid: unprivileged, cwd: folder }
  const run: SlurmCluster['run'] = async (program, args, env) =>
    (await promisify(execFile)(program, args, { ...identity, env: { ...base, ...env } })).stdout

  const close = async () => {
    // The processes of a job are no children of the daemons.
    await run('scancel', ['--state=RUNNING']).catch(() => '')
    const until = Date.now() + 20_000
    while (Date.now() < until && (await run('squeue', ['-h']).catch(() => '')) !== '') await setTimeout(250)
    for (const name of ['slurmd-node0', 'slurmd-node1', 'ctld', 'munged'])
      try {
        process.kill(Number(readFileSync(join(folder, `${name}.pid`), 'utf8')), 'SIGKILL')
      } catch {
        // It never started, or has ended.
      }
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const munge = [
      'key-file=munge.key',
      'socket=munge.sock',
      'pid-file=munged.pid',
      'log-file=log/munged',
      'seed-file=munge.seed',
    ]
    const daemons: [string, ...string[]][] = [
      ['munged', '--force', ...munge.map((option) => `--${option.replace('=', `=${folder}/`)}`)],
      ['slurmctld'],
      ['slurmd', '-N', 'node0'],
      ['slurmd', '-N', 'node1'],
    ]
    for (const [program, ...args] of daemons)
      spawnSync(program, args, { ...identity, env: base, stdio: 'ignore' })
    const until = Date.now() + 60_000
    while ((await run('sinfo', ['-h', '-N', '-o', '%t'])).trim() !== 'idle\nidle') {
      if (Date.now() > until) throw new Error(`the nodes are not idle:\n${await run('sinfo', [])}`)
      await setTimeout(500)
    }
  } catch (error) {
    await close()
    throw error
  }
  return { folder, run, close }
}

function configOf(folder: string, [control, first, second]: readonly number[]): string {
  const host = hostname().split('.')[0]
  const user = execFileSync('id', ['-un', ...(unprivileged === undefined ? [] : [String(unprivileged)])], {
    encoding: 'utf8',
  }).trim()
  return `ClusterName=test
SlurmctldHost=${host}(127.0.0.1)
SlurmUser=${user}
SlurmdUser=${user}
AuthType=auth/munge
AuthInfo=socket=${folder}/munge.sock
SlurmctldPort=${control}
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool-%n
SlurmctldPidFile=${folder}/ctld.pid
SlurmdPidFile=${folder}/slurmd-%n.pid
SlurmctldLogFile=${folder}/log/ctld
SlurmdLogFile=${folder}/log/slurmd-%n
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
KillWait=2
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
NodeName=node0 NodeHostname=${host} NodeAddr=127.0.0.1 Port=${first} CPUs=4 State=UNKNOWN
NodeName=node1 NodeHostname=${host} NodeAddr=127.0.0.1 Port=${second} CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`
}
