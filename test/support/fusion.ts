import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { PooledSandbox } from '../../src/scoring/sandboxes/pooled-sandbox.ts'
import { serversConfig } from '../../src/scoring/sandboxes/sandbox-config.ts'
import { json, type ScriptedServer, scriptedServer } from './scripted-server.ts'

/** A SandboxFusion server that runs what it gets with this machine's Python, unconfined, and reads outputs as the real one does. */
export async function fusionServer(): Promise<ScriptedServer> {
  const server = await scriptedServer(async ({ body }, response) => {
    const { code, stdin, run_timeout: seconds } = body as { code: string; stdin: string; run_timeout: number }
    json(response, await ran(code, stdin, seconds))
  })
  server.healthy = true
  return server
}

/** Bytes that it reads of a program; with more, the program waits until it is late. */
const mostRead = 190_000

function ran(code: string, stdin: string, seconds: number): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-fusion-'))
  const file = join(folder, 'main.py')
  writeFileSync(file, code)
  const began = process.hrtime.bigint()
  const limits = { timeout: seconds * 1000, killSignal: 'SIGKILL', maxBuffer: 1 << 26 } as const
  return new Promise((resolve) => {
    const python = execFile('python3', [file], { ...limits, encoding: 'buffer' }, (error, stdout, stderr) => {
      rmSync(folder, { recursive: true })
      const { code: number = 0, signal, killed } = error ?? {}
      const isLate = killed === true || stdout.length > mostRead
      const isRun = signal ? -constants.signals[signal] : number
      resolve({
        status: error ? 'Failed' : 'Success',
        message: '',
        compile_result: null,
        run_result: {
          status: isLate ? 'TimeLimitExceeded' : 'Finished',
          execution_time: Number(process.hrtime.bigint() - began) / 1e9,
          return_code: isLate ? null : isRun,
          stdout: decoded(stdout.subarray(0, mostRead)),
          stderr: decoded(stderr),
        },
        executor_pod_name: null,
        files: {},
      })
    })
    python.stdin?.on('error', () => {})
    python.stdin?.end(stdin)
  })
}

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    return `[DecodeError] ${(error as Error).message}`
  }
}

/** The code that runs programs on a server of SandboxFusion, asked once and not watched. `more`: other settings. Both end with the test. */
export function sandboxAt(t: Test, server: ScriptedServer, more: object = {}): PooledSandbox {
  const config = serversConfig.parse({
    backend: 'sandbox-fusion',
    instances: [server.url],
    retry: { max: 0 },
    health: { interval_s: 0 },
    ...more,
  })
  const sandbox = new PooledSandbox('fusion', config, { clock: systemClock, events: {}, env: {} })
  t.teardown(async () => {
    sandbox.close()
    await server.kill()
  })
  return sandbox
}
