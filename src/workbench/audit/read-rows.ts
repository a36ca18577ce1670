import { GatewayError } from '../../core/errors.ts'
import { knownAnswers } from '../dataset/known-answers.ts'
import { openRows } from '../dataset/open-rows.ts'
import { eachRow } from '../dataset/row-source.ts'
import type { AuditRow } from './subject.ts'

/** The first `limit` rows of a file. Throws RG_INPUT_INVALID for one that cannot be read or has no right answer. */
export async function readAuditRows(
  path: string,
  stdin: NodeJS.ReadableStream,
  limit: number,
  modelSteps: readonly string[],
): Promise<readonly AuditRow[]> {
  const rows: AuditRow[] = []
  const invalid = (why: string) => new GatewayError('RG_INPUT_INVALID', `${path}: ${why}`)
  for await (const raw of eachRow(await openRows(path, stdin))) {
    if (rows.length >= limit) break
    const known = knownAnswers(raw, rows.length, modelSteps, null)
    const row = `row ${rows.length + 1}`
    if (typeof known === 'string') throw invalid(`${row}: ${known}`)
    if (known.gold === null)
      throw invalid(`${row} has no right answer, neither as its response nor in extra_info.answer`)
    rows.push(known)
  }
  if (rows.length === 0) throw invalid('holds no rows')
  return rows
}
