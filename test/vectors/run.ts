import { readFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { agrees } from './equal.ts'
import { adapters } from './index.ts'
import { type Adapter, bothModes, type Mode, raises, type Vector, wanted } from './vector.ts'

/** What came of a vector file. */
export interface FileResult {
  readonly passed: number
  /** Cases of functions that the gateway has. */
  readonly total: number
  /** The others: how many cases of each, and why the gateway does not have it. */
  readonly elsewhere: readonly string[]
  /** `<id>` or `<id> (<mode>)`, with what was found and wanted. */
  readonly differing: readonly string[]
}

/** Runs one vector file, known by its folder and its name; throws where nothing here answers such a file. */
export async function runFile(path: string): Promise<FileResult> {
  const full = resolve(path)
  const file = basename(full, '.jsonl')
  const folder = basename(dirname(full))
  const adapter = Object.hasOwn(adapters, folder) ? adapters[folder] : undefined
  if (!adapter) throw new Error(`${path}: no adapter for the folder '${folder}'`)
  const lines = readFileSync(full, 'utf8').split('\n')
  const all = lines.filter((line) => line.trim() !== '').map((line): Vector => JSON.parse(line))
  const absent = adapter.elsewhere ?? {}
  const isElsewhere = ({ function: name = file }: Vector): boolean => Object.hasOwn(absent, name)
  const vectors = all.filter((vector) => !isElsewhere(vector))
  const modes: readonly Mode[] = bothModes.has(file) ? ['published', 'strict'] : ['published']
  const differing: string[][] = []
  for (const vector of vectors) {
    const lines = []
    for (const mode of modes) lines.push(...(await difference(adapter, file, vector, mode)))
    differing.push(lines)
  }
  adapter.close?.()
  return {
    passed: differing.filter((lines) => lines.length === 0).length,
    total: vectors.length,
    elsewhere: Object.entries(absent).flatMap(([name, why]) => {
      const { length } = all.filter((vector) => (vector.function ?? file) === name)
      return length === 0 ? [] : [`${length} cases of ${name} are not compared: ${why}`]
    }),
    differing: differing.flat(),
  }
}

async function difference(adapter: Adapter, file: string, vector: Vector, mode: Mode): Promise<string[]> {
  const { answers, tolerance = 1e-9 } = adapter
  const form = Object.hasOwn(answers, file) ? file : (vector.function ?? file)
  const answer = Object.hasOwn(answers, form) ? answers[form] : undefined
  if (!answer) return [`${vector.id}: no adapter for '${form}'`]
  const want = (adapter.wanted ?? wanted)(vector, mode, file)
  let found: unknown
  let thrown = ''
  try {
    found = await answer(vector, mode)
  } catch (error) {
    found = raises
    thrown = `: ${error instanceof Error ? error.message.slice(0, 100) : error}`
  }
  if (agrees(found, want, typeof tolerance === 'number' ? tolerance : tolerance(file))) return []
  const label = bothModes.has(file) ? `${vector.id} (${mode})` : vector.id
  return [`${label}: found ${shown(found)}${thrown}, wanted ${shown(want)}`]
}

function shown(value: unknown): string {
  if (value === raises) return 'an error'
  if (typeof value === 'bigint' || typeof value === 'number') return String(value)
  return (
    JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? String(item) : item)) ?? 'null'
  ).slice(0, 200)
}
