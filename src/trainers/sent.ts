/** What each trainer sends of a rollout besides its final text, and what it makes of a failure, as docs/trainers.md says it. */

export interface SentByTrainer {
  /** When a row has no prompt. null: it always has one. */
  readonly withoutPrompt: string | null
  /** Whether it sends messages with all turns, so that the response is the text of the last one. */
  readonly turns: boolean
  /** Whether its requests can say which answers are one group, or hold whole groups. */
  readonly groups: boolean
  /** When a reward does not even learn that the prompt has images. null: it always does. */
  readonly withoutImages: string | null
  /** When it trains with 0 where the gateway gave no number. null: never. */
  readonly zeroWhen: string | null
  /** The lowest reward that it keeps: what is below arrives as this. */
  readonly lowest: number
}

const messages: SentByTrainer = {
  withoutPrompt: null,
  turns: true,
  groups: false,
  withoutImages: null,
  zeroWhen: null,
  lowest: Number.NEGATIVE_INFINITY,
}
const text: SentByTrainer = { ...messages, turns: false }
const batches: SentByTrainer = { ...messages, groups: true }
const decoded: SentByTrainer = { ...text, withoutPrompt: 'with `template=none`' }
const samples: SentByTrainer = { ...text, withoutPrompt: 'if the rollout keeps none' }

/** By the trainer's name in docs/trainers.md, in lower case. */
export const sentByTrainers = {
  areal: text,
  axolotl: { ...messages, zeroWhen: 'it takes each error for 0' },
  azure: { ...messages, withoutPrompt: 'if the item has neither `messages` nor `prompt`' },
  easyr1: {
    ...text,
    withoutPrompt: 'unless the ground truth is a JSON object with `prompt`',
    groups: true,
    withoutImages: 'unless the ground truth carries them',
  },
  'eval-protocol': { ...messages, zeroWhen: 'its get_trl_adapter takes each error for 0' },
  'llama-factory': decoded,
  miles: samples,
  'ms-swift': batches,
  'nemo-gym': batches,
  'open-instruct': {
    ...text,
    withoutPrompt: 'ever',
    withoutImages: 'ever',
    zeroWhen: 'it takes each error for 0',
    lowest: 0,
  },
  openrlhf: decoded,
  rllm: messages,
  skyrl: { ...text, withoutImages: 'ever' },
  slime: samples,
  tinker: batches,
  trl: batches,
  verifiers: messages,
  verl: {
    ...text,
    withoutPrompt: 'to a function, without `extra_info.prompt` or `question`',
    groups: true,
    withoutImages: 'to a function (its reward manager sends them)',
  },
} as const satisfies Readonly<Record<string, SentByTrainer>>

/** The trainers that `check --trainer` knows. */
export const knownTrainers = Object.keys(sentByTrainers) as readonly (keyof typeof sentByTrainers)[]
