import { readdirSync } from 'node:fs'
import type { TrainerCase } from './case.ts'

const folder = new URL('./cases/', import.meta.url)

async function load(file: string): Promise<Readonly<Record<string, TrainerCase>>> {
  return ((await import(new URL(file, folder).href)) as { cases: Readonly<Record<string, TrainerCase>> })
    .cases
}

const files = readdirSync(folder).filter((name) => name.endsWith('.js'))

/** Every file of cases/: the contract test, chaos and fuzzing ask as these do. */
export const trainerCases: Readonly<Record<string, TrainerCase>> = Object.assign(
  {},
  ...(await Promise.all(files.sort().map(load))),
)
