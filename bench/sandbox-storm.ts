/** 2,000 programs in the local sandbox, of which a tenth hangs, floods, forks or fills memory: verdicts, processes and memory after it. */
import { readFileSync } from 'node:fs'
import { systemClock } from '../src/core/clock.ts'
import { LocalSandbox } from '../src/scoring/sandboxes/local-sandbox.ts'
import { localConfig } from '../src/scoring/sandboxes/sandbox-config.ts'
import { descendantsOf } from '../test/support/descendants.ts'

const count = Number(process.env.COUNT ?? 2000)
const hostile = [
  'while True: pass',
  'import time\ntime.sleep(60)',
  'while True: print("x" * 1000)',
  'import os\nwhile True: os.fork()',
  'import threading\nwhile True: threading.Thread(target=lambda: print(1)).start()',
  'x = []\nwhile True: x.append("a" * 10**6)',
  'import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: 0)\nsignal.signal(signal.SIGXCPU, lambda *_: 0)\nwhile True: pass',
]
const limits = { cpuSeconds: 1, wallSeconds: 1, memoryMb: 128 }

/** Processes below this one, and their resident MiB together with it. */
function below(pid: number): { processes: number; mib: number } {
  const all = [pid, ...descendantsOf(pid)]
  return { processes: all.length - 1, mib: all.reduce((sum, one) => sum + mibOf(one), 0) }
}

const mibOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024

const sandbox = new LocalSandbox('local', localConfig.parse({}), systemClock)
console.log((await sandbox.open()).text)
const verdict = async (program: string, wanted: string): Promise<boolean | string> => {
  const outcome = await sandbox.run({
    execution: { language: 'python', program, cases: [{ stdin: '', expected: { stdout: wanted } }], limits },
    deadline: systemClock.now() + 3_600_000,
    signal: new AbortController().signal,
  })
  return 'failure' in outcome ? outcome.failure.kind : (outcome.result.cases[0]?.passed ?? false)
}
await Promise.all(Array.from({ length: 50 }, (_, at) => verdict(`print(${at})`, `${at}`)))
const before = below(process.pid)
const began = performance.now()
const wrong: string[] = []
await Promise.all(
  Array.from({ length: count }, async (_, at) => {
    const isHostile = at % 10 === 3
    const program = isHostile ? (hostile[((at / 10) % hostile.length) | 0] ?? '') : `print(${at})`
    const given = await verdict(program, `${at}`)
    if (given !== !isHostile) wrong.push(`${program.slice(0, 30)}: ${given}`)
  }),
)
const seconds = (performance.now() - began) / 1000
const after = below(process.pid)
console.log(
  `${count} programs in ${seconds.toFixed(0)} s, ${wrong.length} wrong verdicts ${wrong.slice(0, 5).join('; ')}`,
)
console.log(
  `processes ${before.processes} before, ${after.processes} after; ${before.mib.toFixed(0)} MiB before, ${after.mib.toFixed(0)} after`,
)
sandbox.close()
process.exitCode = wrong.length > 0 || after.processes > before.processes ? 1 : 0
