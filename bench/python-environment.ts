import { execFileSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The programs of a Python environment of this folder; it is made with these packages where it is missing. */
export function pythonEnvironment(name: string, packages: readonly string[]): string {
  const folder = join(import.meta.dirname, name)
  const programs = join(folder, 'bin')
  if (existsSync(folder)) return programs
  try {
    execFileSync('python3', ['-m', 'venv', folder])
    execFileSync(join(programs, 'python'), ['-m', 'pip', 'install', '-q', ...packages], { stdio: 'inherit' })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  return programs
}
