import { hash } from 'node:crypto'
import type { Sample, Unreadable } from '../../core/sample/sample.ts'

/** What of the sample stands beside its result: nothing, what analysis groups by, or all of it. */
export const keeps = ['none', 'facts', 'all'] as const
/** One of them. */
export type Keep = (typeof keeps)[number]

/**
 * A result's `sample`; absent with `none` and for a row that could not be read. Lengths in UTF-16 units. A row that names
 * no group is told by its prompt's hash from those with another prompt.
 */
export function keptOf(keep: Keep, row: Sample | Unreadable): { readonly sample?: object } {
  if (keep === 'none' || 'failure' in row) return {}
  const facts = {
    data_source: row.dataSource ?? null,
    group_id: row.group?.id ?? promptKey(row.prompt),
    response_length: row.response.length,
  }
  if (keep === 'facts') return { sample: facts }
  const { prompt, response, groundTruth, extraInfo } = row
  return { sample: { ...facts, prompt, response, ground_truth: groundTruth, extra_info: extraInfo } }
}

const promptKey = (prompt: Sample['prompt']): string | null =>
  prompt.length === 0 ? null : `prompt:${hash('sha256', JSON.stringify(prompt)).slice(0, 16)}`
