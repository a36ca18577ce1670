import type { Rollout } from '../chaos/rollouts.ts'

/** How one trainer asks, and what its reply says of each row: a number, or null where it says that there is none. */
export interface TrainerCase {
  /** Of the reward `judged`. */
  readonly path: string
  readonly accept?: string
  /** Most rows of one request. */
  readonly rows: number
  body(rows: readonly Row[]): object
  /** Throws if the reply does not have the trainer's format. */
  read(reply: string, count: number): (number | null)[]
}

/** What a trainer knows of a rollout. */
export type Row = Pick<Rollout, 'id' | 'question' | 'response' | 'truth'>

/** A trainer that asks for one row at a time and gets one value back. */
export const single = (
  body: (row: Row) => object,
  path: string,
  read: (reply: never) => number | null,
): TrainerCase => ({
  path,
  rows: 1,
  body: ([row]) => body(row as Row),
  read: (reply) => [read(JSON.parse(reply) as never)],
})

/** Up to the policy's turn, as trainers render it for Qwen's models. */
export const renderedPrompt = ({ question }: Row): string =>
  `<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`

/** Prompt and response in one decoded text. */
export const renderedText = (row: Row): string => `${renderedPrompt(row)}${row.response}`

/** Prompt and response as messages. */
export const turns = ({ question, response }: Row): { role: string; content: string }[] => [
  { role: 'user', content: question },
  { role: 'assistant', content: response },
]
