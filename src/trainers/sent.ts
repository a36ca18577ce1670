/** What each trainer sends of a rollout besides its final text, as docs/trainers.md says it. */

/** What a trainer sends. */
export interface SentByTrainer {
  /** When a row has no prompt. null: it always has one. */
  readonly withoutPrompt: string | null
  /** Whether it sends messages with all turns, so that the response is the text of the last one. */
  readonly turns: boolean
}

const messages: SentByTrainer = { withoutPrompt: null, turns: true }
const text: SentByTrainer = { withoutPrompt: null, turns: false }

/** By the trainer's name in docs/trainers.md. */
export const sentByTrainers = {
  axolotl: messages,
  azure: { withoutPrompt: 'if the item has neither `messages` nor `prompt`', turns: true },
  easyr1: { withoutPrompt: 'unless the ground truth is a JSON object with `prompt`', turns: false },
  'eval-protocol': messages,
  'llama-factory': { ...text, withoutPrompt: 'with `template=none`' },
  'nemo-gym': messages,
  'open-instruct': { withoutPrompt: 'ever', turns: false },
  openrlhf: { ...text, withoutPrompt: 'with `template=none`' },
  slime: { ...text, withoutPrompt: 'if the rollout keeps none' },
  verl: { withoutPrompt: 'to a function, without `extra_info.prompt` or `question`', turns: false },
} as const satisfies Readonly<Record<string, SentByTrainer>>

/** The trainers that `check --trainer` knows. */
export const knownTrainers = Object.keys(sentByTrainers) as readonly (keyof typeof sentByTrainers)[]
