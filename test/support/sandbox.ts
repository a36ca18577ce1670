import { readFileSync } from 'node:fs'
import { systemClock } from '../../src/core/clock.ts'
import { LocalSandbox } from '../../src/scoring/sandboxes/local-sandbox.ts'
import { localConfig } from '../../src/scoring/sandboxes/sandbox-config.ts'
import { withoutPython } from './python.ts'

/** Why no program can be run in a sandbox on this machine; false if it can. */
export async function withoutSandbox(): Promise<string | false> {
  if (withoutPython) return withoutPython
  const sandbox = new LocalSandbox('probe', localConfig.parse({ programs: 1 }), systemClock)
  try {
    await sandbox.open()
    return false
  } catch (error) {
    return (error as Error).message
  } finally {
    sandbox.close()
  }
}

/** The processes of this one that run programs. */
export const zygotes = (): number[] =>
  readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number)
