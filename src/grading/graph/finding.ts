/** What a check of a graph task found. */
export type Finding =
  /** `value` counts what the task counts: nodes, hops, edits, kilometres; 0 or more. */
  | { readonly status: 'solution'; readonly value: number; readonly extracted: string }
  | { readonly status: 'invalid'; readonly reason: string; readonly extracted: string }
  /** `no_answer`: no list. `bad_problem`: the row, not the answer, cannot be read. `raised`: the original's check throws. */
  | { readonly status: 'no_answer' | 'bad_problem' | 'raised' | 'budget_spent'; readonly reason: string }

/** An answer that solves the problem; `extracted` is the list that gave it. */
export const solution = (value: number, extracted: string): Finding => ({
  status: 'solution',
  value,
  extracted,
})

/** A list that solves nothing, and why. */
export const invalid = (reason: string, extracted: string): Finding => ({
  status: 'invalid',
  reason,
  extracted,
})

/** No list where one is looked for. */
export const noAnswer = (reason: string): Finding => ({ status: 'no_answer', reason })

/** A row that cannot be graded: the data's fault. */
export const badProblem = (reason: string): Finding => ({ status: 'bad_problem', reason })

/** A place at which the original's check throws. */
export const raised = (reason: string): Finding => ({ status: 'raised', reason })

/** What of an extracted answer is shown, in UTF-16 units. */
const shown = 500

/** A finding as the details of a score. */
export function findingDetails(finding: Finding): Record<string, string | number> {
  return {
    status: finding.status,
    ...('reason' in finding ? { reason: finding.reason } : {}),
    ...('extracted' in finding ? { extracted: finding.extracted.slice(0, shown) } : {}),
    ...('value' in finding ? { value: finding.value } : {}),
  }
}

/** The published graders' number for a finding: -1 without a list, -2 for a wrong one; null where it is not asked. */
export function publishedValue(finding: Finding): number | null {
  if (finding.status === 'solution') return finding.value
  if (finding.status === 'no_answer') return -1
  return finding.status === 'invalid' ? -2 : null
}
