/**
 * What published graders of graph tasks get wrong, each behind its own name. None of them is on in the strict mode.
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

/** GraphArena's own checks, from which NPG-Muse's were made. */
export const graphArena: Faults = {
  ...npgMuse,
  emptyAnswersCount: true,
  namesUnstripped: true,
  earlierListsCount: true,
  unreadableIsNoAnswer: true,
}
