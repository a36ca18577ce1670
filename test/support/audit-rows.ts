import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditRow } from '../../src/workbench/audit/attack.ts'
import { knownAnswers } from '../../src/workbench/dataset/samples.ts'

/** The rows of test/fixtures/audit/NAME.jsonl; `bare-NAME` without the marker of the final line. */
export function auditRows(name: string): readonly AuditRow[] {
  const isBare = name.startsWith('bare-')
  const file = join('test/fixtures/audit', `${name.replace('bare-', '')}.jsonl`)
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  return lines.map((line, index) => {
    const row = JSON.parse(line)
    if (isBare) row.response = `The answer is ${row.ground_truth}.`
    const known = knownAnswers({ value: row, literals: [] }, index, [], null)
    if (typeof known === 'string') throw new TypeError(`${file}: ${known}`)
    return known
  })
}
