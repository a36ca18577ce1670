import type { Finding } from './finding.ts'

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
