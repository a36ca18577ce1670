import type { JudgePrompt } from '../judge-prompt.ts'

/** What a policy thinks of an answer. */
export interface Verdict {
  /** 0 wrong, 1 right; between them where a policy grades. */
  readonly score: number
  readonly reason: string
}

/** A verdict on one candidate of a prompt. */
export interface Judged extends Verdict {
  /** 'A', '2', ...; '' where there is only one. */
  readonly label: string
}

/** Which of several draws of the same prompt this is; equal draws give equal replies. */
export interface Draw {
  readonly seed: string | number
  /** 0 at temperature 0, whatever the choice or the attempt. */
  readonly index: number
}

/** What plays the model. A string is the reply itself; null: nothing to go by. Pure. */
export type Policy = (prompt: JudgePrompt, draw: Draw) => Verdict | string | null
