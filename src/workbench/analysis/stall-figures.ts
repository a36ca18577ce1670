import type { DuckDBConnection } from '@duckdb/node-api'
import type { Spell, StallCause } from '../../core/stalls/request-times.ts'
import { quietMs, type StallShare, stallOf } from '../../core/stalls/step-stalls.ts'
import { rowsOf } from './scored-table.ts'

/** How long a training step waited for its last reward, and for what. `file` is an index. docs/stalls.md has the definition. */
export interface StallFigures {
  readonly file: number
  readonly run: string
  /** null: the requests named no training step. */
  readonly step: number | null
  readonly rows: number
  readonly ms: number
  /** The largest first. */
  readonly shares: readonly StallShare[]
}

/**
 * Steps of records, in order of time. A step that is quiet for longer than `quietMs` and goes on is counted twice, as the gateway
 * does.
 */
export async function stallFigures(connection: DuckDBConnection): Promise<readonly StallFigures[]> {
  const rows = await rowsOf(
    connection,
    `SELECT file, run, step::DOUBLE AS step, max(arrived) AS last, max(ended) AS ended, count(*)::DOUBLE AS n,
      arg_max(arrived, ended) AS began, arg_max(spent, ended)::VARCHAR AS spent FROM (
        SELECT *, sum(CASE WHEN arrived - before >= ${quietMs} THEN 1 ELSE 0 END) OVER (
          PARTITION BY file, run, step ORDER BY arrived, ended) AS part FROM (
            SELECT *, max(ended) OVER (PARTITION BY file, run, step ORDER BY arrived, ended
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM waited))
    GROUP BY file, run, step, part ORDER BY file, last`,
  )
  return rows.map(({ file, run, step, last, ended, n, began, spent }) => {
    const named = step === null ? null : Number(step)
    const request = { arrived: Number(began), ended: Number(ended) }
    const spells = () => spellsOf(String(spent), request.arrived)
    const stall = stallOf(named, Number(last), { ...request, spells })
    return { file: Number(file), run: String(run), rows: Number(n), ...stall }
  })
}

function spellsOf(spent: string, began: number): readonly Spell[] {
  let from = began
  return (JSON.parse(spent) as { cause: StallCause; model?: string; ms: number }[]).map(
    ({ cause, model = '', ms }) => {
      const spell = { cause, model, from, to: from + ms }
      from = spell.to
      return spell
    },
  )
}
