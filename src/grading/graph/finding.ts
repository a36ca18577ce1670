/** The result of checking a graph task. */
export type Finding =
  /** `value` is what the task counts: nodes, hops, edits or kilometres. At least 0. */
  | { readonly status: 'solution'; readonly value: number; readonly extracted: string }
  | { readonly status: 'invalid'; readonly reason: string; readonly extracted: string }
  /**
   * `no_answer`: there is no list. `bad_problem`: the row cannot be read. `raised`: the published check
   * throws.
   */
  | { readonly status: 'no_answer' | 'bad_problem' | 'raised' | 'budget_spent'; readonly reason: string }

/** A valid solution. `extracted` is its list. */
export const solution = (value: number, extracted: string): Finding => ({
  status: 'solution',
  value,
  extracted,
})

/** A list that is not a solution, and why. */
export const invalid = (reason: string, extracted: string): Finding => ({
  status: 'invalid',
  reason,
  extracted,
})

/** No list was found. */
export const noAnswer = (reason: string): Finding => ({ status: 'no_answer', reason })

/** A row that cannot be graded, which is a fault of the data. */
export const badProblem = (reason: string): Finding => ({ status: 'bad_problem', reason })

/** A case in which the published check throws. */
export const raised = (reason: string): Finding => ({ status: 'raised', reason })

/** Maximum length of an extracted answer in details, in UTF-16 units. */
const shown = 500

/** A finding as details of a score. */
export function findingDetails(finding: Finding): Record<string, string | number> {
  return {
    status: finding.status,
    ...('reason' in finding ? { reason: finding.reason } : {}),
    ...('extracted' in finding ? { extracted: finding.extracted.slice(0, shown) } : {}),
    ...('value' in finding ? { value: finding.value } : {}),
  }
}

/**
 * The published graders' number for a finding: -1 without a list, -2 for a wrong one, null if not applicable.
 */
export function publishedValue(finding: Finding): number | null {
  if (finding.status === 'solution') return finding.value
  if (finding.status === 'no_answer') return -1
  return finding.status === 'invalid' ? -2 : null
}

/**
 * Faults of published graph graders, one flag each. The strict mode has none of them. Numbers in brackets name
 * the rule that closes the fault, in the order of the checks.
 */
export interface Faults {
  /** A list inside the thinking, even unclosed, counts as the answer. */
  readonly thinkingIsSearched: boolean
  /** A list contains no newline, and a `[` before the innermost one belongs to the first name. */
  readonly listsEndAtLines: boolean
  /** Unknown names are skipped, unless the task is `strict`. */
  readonly unknownNamesSkipped: boolean
  /** Unknown names are skipped in every task, and an empty answer is accepted. */
  readonly emptyAnswersCount: boolean
  /** Node names are compared without stripping. */
  readonly namesUnstripped: boolean
  /** Earlier lists are tried if the last one is wrong. */
  readonly earlierListsCount: boolean
  /** Duplicate names are accepted and counted. */
  readonly duplicatesCount: boolean
  /** Lists of atoms that cannot be parsed count as missing. */
  readonly unreadableIsNoAnswer: boolean
  /** A self-loop counts as an edge of a clique. */
  readonly selfLoopsCount: boolean
  /** Nonexistent atoms vanish from a common subgraph but still count. */
  readonly absentAtomsCount: boolean
  /** Atoms of the second molecule beyond the size of the first cost nothing. */
  readonly extraAtomsFree: boolean
  /** Malformed graphs are accepted: undeclared nodes, no edges, duplicate names. */
  readonly graphsUnchecked: boolean
  /** Distances that the text of a tour does not state are filled in. */
  readonly distancesFilled: boolean
}

/** Accepts only what the task asks for. */
export const strict: Faults = {
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

/** GraphArena's own checks, on which NPG-Muse's are based. */
export const graphArena: Faults = {
  ...npgMuse,
  emptyAnswersCount: true,
  namesUnstripped: true,
  earlierListsCount: true,
  unreadableIsNoAnswer: true,
}
