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
  'unreadable-row': { severity: 'error', advice: 'fix or drop these rows; they cannot be scored' },
  'missing-column': {
    severity: 'error',
    advice: 'add the column; docs/prepare.md shows the format of a row',
  },
  'empty-prompt': { severity: 'error', advice: 'drop these rows: their prompts are empty' },
  'unknown-data-source': {
    severity: 'error',
    advice: 'use one that a step accepts, or add a step for it; the reward cannot score these rows',
  },
  'refused-truth': {
    severity: 'error',
    advice: 'convert the ground truth to the format that the reward function expects',
  },
  'ungradable-row': { severity: 'error', advice: 'fix or drop these rows: no answer can earn anything' },
  'failing-rule': {
    severity: 'error',
    advice: 'check the row and the function; every answer would fail like this',
  },
  'gold-not-above-near-miss': {
    severity: 'error',
    advice:
      'the reward cannot tell right from wrong here: fix the ground truth, the wrong answer or the reward',
  },
  'gold-not-paid': {
    severity: 'error',
    advice: 'the right answer earns no more than an empty one: is it really right?',
  },
  'gold-below-best': {
    severity: 'warning',
    advice: 'check the ground truth and the format of the right answer',
  },
  'made-near-miss-paid': {
    severity: 'warning',
    advice:
      'changing the value in the right answer changes nothing: add extra_info.near_miss, or check the reward',
  },
  'flagged-row': { severity: 'warning', advice: 'the reward flags the right answer: check the label' },
  'empty-program-paid': {
    severity: 'error',
    advice: 'the tests of these rows pass without a program: add tests, or drop the rows',
  },
  'slow-reference': {
    severity: 'error',
    advice: 'the right answer runs out of its time: raise limit_s, or drop the rows',
  },
  'tests-in-prompt': {
    severity: 'note',
    advice:
      'a program can know these outputs without solving the task: have tests that the prompt does not show',
  },
  'weak-tests': {
    severity: 'note',
    advice:
      'such tests run in the process of the program, which could look for them; asserts of equality are safer',
  },
  'template-placeholder': {
    severity: 'error',
    advice: 'fix the name in the judge prompt; it is sent unchanged',
  },
  'response-not-in-question': {
    severity: 'error',
    advice: 'the judge would not see the answer: add a placeholder for it to the judge prompt',
  },
  'failing-question': {
    severity: 'error',
    advice: 'rm_preprocess cannot make a question from the right answer',
  },
  rubric: {
    severity: 'note',
    advice: 'nothing, if this is the form that you meant; docs/rubrics.md says how each is read',
  },
  'question-count': {
    severity: 'note',
    advice: 'multiply it by the answers to a prompt for a pass over the data',
  },
  'odd-rubric': {
    severity: 'warning',
    advice: 'look at these rubrics: they may not pay what their author meant',
  },
  'unguarded-response': {
    severity: 'warning',
    advice: 'make the question with prompt`...`, which fences values',
  },
  'undeclared-steps': {
    severity: 'warning',
    advice:
      'declare them with steps(texts, mark); a reply with another number of values then fails the sample',
  },
  'empty-value': {
    severity: 'warning',
    advice: 'fill the field, or allow it to be empty with optional(...)',
  },
  'prompt-too-long': {
    severity: 'error',
    advice:
      'drop these rows, shorten the judge prompt or raise the window of the model; such samples get no reward',
  },
  'unseen-content': {
    severity: 'error',
    advice:
      'the step cannot see a part of the row, so each answer would be invalid: drop the rows, use a step that sees it, or write ignore',
  },
  'environment-missing': {
    severity: 'warning',
    advice: 'send them with each rollout, or write scored(environment.NAME) ? ... : ... in the formula',
  },
  'ignored-content': {
    severity: 'note',
    advice: 'the step ignores these parts, as its config says, and flags each score',
  },
  'turns-unseen': {
    severity: 'note',
    advice:
      'the judge sees only the final text of the rollout; interpolate transcript(sample) to show all of it',
  },
  'earlier-turns': {
    severity: 'warning',
    advice:
      "response is the text of the assistant's last turn; versions before rollouts had turns read all of them joined",
  },
  'unread-column': {
    severity: 'warning',
    advice:
      'send images as parts of the messages (data URLs): rows are checked and scored without these columns',
  },
  'leaked-answer': {
    severity: 'error',
    advice: 'remove the answer from the prompt: the policy would only copy it',
  },
  'stated-answer': {
    severity: 'warning',
    advice: 'the prompt states the answer: is it an example for another problem?',
  },
  'conflicting-rows': {
    severity: 'error',
    advice: 'a prompt cannot have two ground truths: drop one of the rows',
  },
  'repeated-row': {
    severity: 'warning',
    advice: 'keep only one: a repeated row has more weight and, across files, leaks',
  },
  'garbled-text': {
    severity: 'warning',
    advice: 'read the source in its own encoding and create the file again',
  },
  'chat-form': {
    severity: 'warning',
    advice: 'a prompt must end with a user turn or a tool result',
  },
  'policy-unreachable': { severity: 'error', advice: 'start the policy server or omit --policy' },
  'policy-unscored': {
    severity: 'error',
    advice: 'these answers of the policy got no reward; see the reason',
  },
  'policy-text': {
    severity: 'warning',
    advice: 'these answers do not look like text: is the chat template right?',
  },
  'policy-cut': {
    severity: 'warning',
    advice: 'most answers reach --max-tokens: raise it, here and in training',
  },
  'no-signal': {
    severity: 'error',
    advice:
      'all answers to each prompt earn the same, so a group-relative policy gradient is 0: warm up first, or change the data',
  },
  'weak-signal': {
    severity: 'warning',
    advice: 'only the format is rewarded so far: a supervised warm-up helps',
  },
  'solved-data': { severity: 'warning', advice: 'nearly all prompts are solved already: use harder data' },
  'judge-not-reached': {
    severity: 'note',
    advice: 'start its server or set max_prompt_tokens; lengths are estimated at four bytes a token',
  },
  'truth-from-text': {
    severity: 'note',
    advice:
      'nothing, if the column is meant to be JSON: the function accepts no text and gets the parsed value',
  },
  'no-gold': {
    severity: 'note',
    advice: 'name the column of right answers with --gold, to check that they earn most',
  },
  'no-question': {
    severity: 'note',
    advice: 'this answer gets a verdict without a call to the judge',
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

/** A failure's detail as a message: rows differ in the index of a turn. */
export const withoutPlace = (detail: string): string => detail.replace(/^(prompt|response)\.\d+ /, '$1 ')
