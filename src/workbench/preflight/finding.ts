/**
 * Findings about data, configs and servers. `findingKinds` defines the severity and the advice of each kind.
 */

type Severity = 'error' | 'warning' | 'note'

interface Kind {
  readonly severity: Severity
  /** What the user should do. */
  readonly advice: string
}

/** Every kind of finding. The names are public, because people match them in CI. */
export const findingKinds = {
  'unreadable-row': { severity: 'error', advice: 'mend or drop these rows; they can never be scored' },
  'missing-column': { severity: 'error', advice: 'add the column; docs/prepare.md shows the form of a row' },
  'empty-prompt': { severity: 'error', advice: 'drop these rows: there is nothing to answer' },
  'unknown-data-source': {
    severity: 'error',
    advice:
      'name one that a step knows, or give the reward a step for it; the reward has no score for such rows',
  },
  'refused-truth': {
    severity: 'error',
    advice: 'give the ground truth the form that the reward function reads',
  },
  'ungradable-row': { severity: 'error', advice: 'mend or drop these rows: no answer can earn anything' },
  'failing-rule': {
    severity: 'error',
    advice: 'look at the row and at the function; every answer would fail so',
  },
  'gold-not-above-near-miss': {
    severity: 'error',
    advice:
      'the reward cannot tell right from wrong here: mend the ground truth or the wrong answer, or the reward',
  },
  'gold-not-paid': {
    severity: 'error',
    advice: 'the right answer earns no more than one without content: is it right?',
  },
  'gold-below-best': {
    severity: 'warning',
    advice: 'look at the ground truth, or at the form of the right answer',
  },
  'made-near-miss-paid': {
    severity: 'warning',
    advice:
      'changing the value in the right answer changes nothing: give extra_info.near_miss, or look at the reward',
  },
  'flagged-row': { severity: 'warning', advice: 'the reward marks its right answer: look at the label' },
  'template-placeholder': {
    severity: 'error',
    advice: 'mend the name in the judge prompt; it is sent as it stands',
  },
  'response-not-in-question': {
    severity: 'error',
    advice: 'the judge would not see the answer: the judge prompt lacks the place for it',
  },
  'failing-question': {
    severity: 'error',
    advice: 'rm_preprocess cannot make a question of the right answer',
  },
  'unguarded-response': {
    severity: 'warning',
    advice: 'make the question with prompt`...`, so that values are fenced',
  },
  'undeclared-steps': {
    severity: 'warning',
    advice: 'make them with steps(texts, mark): an answer of another number of values then fails its sample',
  },
  'empty-value': {
    severity: 'warning',
    advice: 'fill the field, or say that it may be empty: optional(...)',
  },
  'prompt-too-long': {
    severity: 'error',
    advice:
      'drop these rows, shorten the judge prompt, or raise the model window; such samples have no reward',
  },
  'leaked-answer': {
    severity: 'error',
    advice: 'take the answer out of the prompt: the policy would only copy it',
  },
  'stated-answer': {
    severity: 'warning',
    advice: 'the prompt states the answer: is it an example of another problem?',
  },
  'conflicting-rows': {
    severity: 'error',
    advice: 'one prompt cannot have two ground truths: drop one of the rows',
  },
  'repeated-row': {
    severity: 'warning',
    advice: 'drop all but one: a repeated row weighs more, and in two files it leaks',
  },
  'garbled-text': {
    severity: 'warning',
    advice: 'read the source with its own encoding, and make the file again',
  },
  'chat-form': {
    severity: 'warning',
    advice: 'a prompt ends with a turn of the user, or with a tool result',
  },
  'policy-unreachable': { severity: 'error', advice: 'start the policy server, or leave --policy out' },
  'policy-unscored': {
    severity: 'error',
    advice: 'these answers of the policy have no reward; see the reason',
  },
  'policy-text': {
    severity: 'warning',
    advice: 'what the policy writes does not look like text: is the chat template right?',
  },
  'policy-cut': {
    severity: 'warning',
    advice: 'most answers run into --max-tokens: raise it, here and in training',
  },
  'no-signal': {
    severity: 'error',
    advice:
      'all answers to each prompt earn the same, so a group-relative policy gradient is 0: warm up first, or change the data',
  },
  'weak-signal': { severity: 'warning', advice: 'only form is rewarded so far: a supervised warm-up helps' },
  'solved-data': { severity: 'warning', advice: 'nearly everything is solved already: take harder data' },
  'judge-not-reached': {
    severity: 'note',
    advice: 'start its server, or set max_prompt_tokens: an estimated token is four bytes',
  },
  'truth-from-text': {
    severity: 'note',
    advice: 'nothing, if the column is meant to be JSON: the function takes no text, and reads the value',
  },
  'no-gold': { severity: 'note', advice: 'name the column of right answers by --gold, to see them on top' },
  'no-question': {
    severity: 'note',
    advice: 'the judge gives its verdict on this answer without being asked',
  },
} as const satisfies Readonly<Record<string, Kind>>

export type FindingName = keyof typeof findingKinds

/** A finding with one cause. */
export interface Finding {
  readonly name: FindingName
  readonly severity: Severity
  readonly message: string
  readonly advice: string
  /** The first affected rows. */
  readonly rows: readonly string[]
  /** The number of affected rows. 0 if it is not about rows. */
  readonly count: number
}

const shownRows = 10
const order: readonly Severity[] = ['error', 'warning', 'note']

/** Collects findings and counts the rows of equal ones. */
export class Findings {
  readonly #found = new Map<string, { name: FindingName; message: string; rows: string[]; count: number }>()

  /** `places` are the affected rows. */
  add(name: FindingName, message: string, ...places: readonly string[]): void {
    this.addMany(name, message, { rows: places, count: places.length })
  }

  /** Like `add`, if only some of the rows are listed. */
  addMany(name: FindingName, message: string, { rows, count }: Pick<Finding, 'rows' | 'count'>): void {
    const key = `${name} ${message}`
    const found = this.#found.get(key) ?? { name, message, rows: [], count: 0 }
    found.rows.push(...rows.slice(0, shownRows - found.rows.length))
    found.count += count
    this.#found.set(key, found)
  }

  /** By severity, then in order of discovery. */
  list(): readonly Finding[] {
    const all = [...this.#found.values()].map((found): Finding => ({ ...found, ...findingKinds[found.name] }))
    return order.flatMap((severity) => all.filter((found) => found.severity === severity))
  }
}
