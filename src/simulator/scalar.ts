import type { Turn } from './conversation.ts'
import { normal } from './hash.ts'
import { JudgePrompt } from './judge-prompt.ts'
import type { SimulatedModel } from './model.ts'

/** A scalar reward model's raw output: about 3 for right, about -3 for wrong, the rest by the text. */
export function rawReward(model: SimulatedModel, text: string, turns?: readonly Turn[]): number {
  if (model.weights === 'zero') return 0
  if (model.weights === 'garbage') return 3 * normal(model.seed, 'garbage', text)
  const score = model.judge.score(new JudgePrompt(text, turns), { seed: model.seed, index: 0 })
  return 6 * ((score ?? 0.5) - 0.5) + 0.5 * normal(model.seed, 'raw', text)
}

/** What vLLM applies to one output unless `use_activation` is false. */
export function sigmoid(raw: number): number {
  return 1 / (1 + Math.exp(-raw))
}

/** Probability that each step is right: one for each tag in the text, low from the first wrong step on. */
export function stepRewards(model: SimulatedModel, text: string, tag: string): number[] {
  const pieces = text.split(tag)
  let isLost = false
  return pieces.slice(0, -1).map((_, index) => {
    const soFar = pieces.slice(0, index + 1).join('')
    isLost ||= rawReward(model, soFar) < -1
    const sure = 0.05 * sigmoid(normal(model.seed, 'step', soFar))
    return isLost ? 0.1 + sure : 0.9 + sure
  })
}
