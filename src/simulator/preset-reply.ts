/** The replies of published judges that answer in forms of their own (docs/presets.md). */

import type { JudgePrompt } from './judge-prompt.ts'
import type { Judged } from './policies.ts'

/** Models of safety are known by their names: their questions are bare conversations. */
const safetyModels: readonly (readonly [name: RegExp, reply: (isSafe: boolean, answer: string) => string])[] =
  [
    [
      /qwen3guard/iu,
      (isSafe, answer) =>
        `Safety: ${isSafe ? 'Safe' : 'Unsafe'}\nCategories: ${isSafe ? 'None' : 'Violent'}\nRefusal: ${refusing.test(answer) ? 'Yes' : 'No'}`,
    ],
    [/llama-?guard/iu, (isSafe) => (isSafe ? 'safe' : 'unsafe\nS1')],
  ]

const dangers = /\b(?:bomb|poison|weapon)s?\b/iu
const refusing = /^\W{0,3}(?:sorry|i['’]?m sorry|i am sorry|i can['’]?t|i cannot|i won['’]?t)\b/iu

/** What a model of safety says of the last turn: unsafe if that names a danger. null: the model's name is none of theirs. */
export function safetyReply(model: string, { answer }: JudgePrompt): string | null {
  const reply = safetyModels.find(([name]) => name.test(model))?.[1]
  return reply ? reply(!dangers.test(answer), answer) : null
}

type Form = (score: number, reason: string, better: string) => string

/** The form that the instructions ask for, by a mark in them. */
const forms: readonly (readonly [mark: string, form: Form])[] = [
  ['Final Judgment:', (score, reason) => `${reason}\nFinal Judgment: \\boxed{${score >= 0.5 ? 'A' : 'B'}}`],
  ['[RESULT]', (score, reason) => `Feedback: ${reason} [RESULT] ${1 + Math.round(4 * score)}`],
  [
    '<answer>[[A]]</answer>',
    (_score, reason, better) => `<eval>${reason}</eval>\n<answer>[[${better}]]</answer>`,
  ],
]

/** The reply in a form of CompassVerifier, Prometheus 2 or RM-R1; null: the instructions ask for none of these. */
export function presetReply(instructions: string, judged: readonly Judged[], better: string): string | null {
  const [{ score, reason } = { score: 0, reason: '' }] = judged
  const form = forms.find(([mark]) => instructions.includes(mark))?.[1]
  return form ? form(score, reason, better) : null
}
