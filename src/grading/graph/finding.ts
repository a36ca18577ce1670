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

/**
 * What published graders of graph tasks get wrong, each behind its own name. None of them is on in the sound mode.
 * Numbers in brackets: the rule that closes the fault, in the order of the checks.
 */
export interface Faults {
  /** A list inside the thinking, even unclosed, is the answer. */
  readonly thinkingIsSearched: boolean
  /** A list holds no newline, and a `[` before the innermost one belongs to the first name. */
  readonly listsEndAtLines: boolean
  /** Tokens that name nothing are passed over; where a task forbids it, see its own `strict`. */
  readonly unknownNamesSkipped: boolean
  /** Unknown names are passed over in every task, and an answer may be empty. */
  readonly emptyAnswersCount: boolean
  /** Node names are compared as they are, without stripping. */
  readonly namesUnstripped: boolean
  /** Where the last list is wrong, earlier ones are tried. */
  readonly earlierListsCount: boolean
  /** One name may be given many times, and counts each time. */
  readonly duplicatesCount: boolean
  /** Lists of atoms that cannot be parsed count as no list. */
  readonly unreadableIsNoAnswer: boolean
  /** A self-loop is an edge of a clique. */
  readonly selfLoopsCount: boolean
  /** Atoms that do not exist vanish from a common subgraph, and still count. */
  readonly absentAtomsCount: boolean
  /** Atoms of the second molecule beyond the first one's size cost nothing. */
  readonly extraAtomsFree: boolean
  /** Half-read graphs are used: undeclared nodes, no edges, names twice. */
  readonly graphsUnchecked: boolean
  /** Distances that the text of a tour does not state are made up. */
  readonly distancesFilled: boolean
}

/** A grader that accepts only what the task asks for. */
export const sound: Faults = {
  thinkingIsSearched: false,
  listsEndAtLines: false,
  unknownNamesSkipped: false,
  emptyAnswersCount: false,
  namesUnstripped: false,
  earlierListsCount: false,
  duplicatesCount: false,
  unreadableIsNoAnswer: false,
  selfLoopsCount: false,
  absentAtomsCount: false,
  extraAtomsFree: false,
  graphsUnchecked: false,
  distancesFilled: false,
}

/** NPG-Muse's training checks. */
export const npgMuse: Faults = {
  thinkingIsSearched: true,
  listsEndAtLines: true,
  unknownNamesSkipped: true,
  emptyAnswersCount: false,
  namesUnstripped: false,
  earlierListsCount: false,
  duplicatesCount: true,
  unreadableIsNoAnswer: false,
  selfLoopsCount: true,
  absentAtomsCount: true,
  extraAtomsFree: true,
  graphsUnchecked: true,
  distancesFilled: true,
}

/** GraphArena's own checks, from which NPG-Muse's were made. */
export const graphArena: Faults = {
  ...npgMuse,
  emptyAnswersCount: true,
  namesUnstripped: true,
  earlierListsCount: true,
  unreadableIsNoAnswer: true,
}
