import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openFunctions } from '../../src/scoring/functions/open-functions.ts'
import { readConfigs } from '../../src/scoring/plan/configs.ts'
import { resolvePlans } from '../../src/scoring/plan/resolve.ts'
import { openRows } from '../../src/workbench/dataset/rows.ts'
import { openReward } from '../../src/workbench/preflight/opened-reward.ts'
import { type PreflightJob, preflight, type Report } from '../../src/workbench/preflight/preflight.ts'
import { families } from '../../src/workbench/prepare/families.ts'
import { trainingRow } from '../../src/workbench/prepare/prepare.ts'
import { sources } from './training-sources.ts'

export type Row = Record<string, unknown>

/** Training rows of a family, as `prepare` writes them. */
export function trainingRows(name: string, count: number): Row[] {
  const family = families.get(name)
  if (!family) throw new Error(`no family ${name}`)
  return (sources[name]?.(count) ?? []).map((row, at) => ({
    ...trainingRow(family.read(row, {}), family, at),
  }))
}

/** The rm-config by which a family's rows are proved. */
export const familyConfig = (name: string): object => ({ steps: families.get(name)?.steps })

export type Look = (
  reward: object,
  rows: readonly (Row | string)[],
  more?: Partial<PreflightJob> & {
    readonly models?: object
    readonly sandboxes?: object
  },
) => Promise<Report>

/** Looks at rows through a reward that is given as an object; all with the same workers, which end with the test. */
export async function openLook(t: Test, folders: readonly string[] = []): Promise<Look> {
  const functions = await openFunctions({ folders, sampleTimeoutMs: 5000, threads: 1 })
  t.teardown(() => functions.close())
  const file = join(t.testdir(), 'rows.jsonl')
  return async (reward, rows, { models = {}, sandboxes = {}, ...more } = {}) => {
    writeFileSync(file, rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n'))
    const texts = [
      { file: 'gateway.json', text: JSON.stringify({ models, sandboxes }) },
      { file: 'reward.json', text: JSON.stringify(reward) },
    ]
    const resolved = await resolvePlans(readConfigs(texts, {}), functions)
    const plan = resolved.plans.get('reward')
    if (!plan) throw new Error('the config holds no reward')
    const opened = openReward(resolved, plan, functions, {})
    try {
      return await preflight({
        opened,
        files: [{ path: file, source: await openRows(file, process.stdin) }],
        sampled: null,
        goldPath: null,
        answerTokens: null,
        maxRows: Number.POSITIVE_INFINITY,
        probed: 5,
        seed: 42,
        signal: new AbortController().signal,
        ...more,
      })
    } finally {
      await opened.close()
    }
  }
}

/** Each finding's name and rows, the worst first. */
export const namedFindings = ({ findings }: Report): readonly string[] =>
  findings.map(({ name, rows }) => `${name} ${rows.join(' ')}`)
