import { strictReward } from './answer-reward.ts'
import { type Finding, publishedValue } from './finding.ts'
import type { GraphTask } from './tasks.ts'

/** Names of the parts: `value` is -1 for no answer, -2 for no solution. */
export const arenaParts: readonly string[] = ['value', 'accurate', 'feasible', 'hallucination']

/** How an evaluation counts one answer. */
export interface ArenaMarks {
  readonly isAccurate: boolean
  readonly parts: Readonly<Record<string, number>>
  readonly flags: readonly string[]
}

/** Counts an answer as GraphArena's report does: on tasks whose labels are approximate a better one is right too. */
export function arenaMarks(task: GraphTask, finding: Finding, label: unknown): ArenaMarks {
  const value = publishedValue(finding)
  if (value === null) throw new Error(`the problem cannot be graded: ${reasonOf(finding)}`)
  const isAccurate = typeof label === 'number' && value >= 0 && isRight(task, value, label)
  return { isAccurate, parts: partsOf(value, isAccurate), flags: [] }
}

/** The same with labels checked: an equal or better solution is right, and a better one is flagged. */
export function strictArenaMarks(task: GraphTask, finding: Finding, label: unknown): ArenaMarks {
  const { isRight: isAccurate, flags } = strictReward(finding, label, task, 'binary')
  return { isAccurate, parts: partsOf(publishedValue(finding), isAccurate), flags }
}

function partsOf(value: number | null, isAccurate: boolean): Record<string, number> {
  return {
    ...(value === null ? {} : { value }),
    accurate: Number(isAccurate),
    feasible: Number(value !== null && value > 0),
    hallucination: Number(value === -2),
  }
}

function isRight({ better, approximate }: GraphTask, value: number, exact: number): boolean {
  if (!approximate) return value === exact
  return better === 'smaller' ? value <= exact : value >= exact
}

const reasonOf = (finding: Finding): string => ('reason' in finding ? finding.reason : finding.status)
