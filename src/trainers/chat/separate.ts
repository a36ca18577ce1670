import type { Sample } from '../../core/sample/sample.ts'
import type { GroundTruthIndex } from '../ground-truth-index.ts'
import { afterFillers, closed, cutsOf, templateOf, turnsOf } from './conversation.ts'
import { type ChatTemplate, chatTemplates } from './templates.ts'

/** Prompt and response, or why they cannot be told apart. */
export type Separated = Pick<Sample, 'prompt' | 'response'> | { readonly problem: string }

/** What is known of a text that holds prompt and response. */
export interface Known {
  /** The prompt as it was rendered. */
  readonly prompt?: string | undefined
  /** A template's name, or `none`: the text is all response. */
  readonly template?: string | undefined
  readonly truths: GroundTruthIndex | null
}

const mostTurns = 64

/**
 * Prompt and response of one decoded text. Without the rendered prompt the response begins at the first assistant turn
 * (where truths are known: at the first whose prompt is among them), so that no look-alike in a response cuts it short.
 */
export function separate(text: string, { prompt, template: name, truths }: Known): Separated {
  const named = chatTemplates.find((one) => one.name === name)
  // An empty prompt would make the whole text the response, the policy's question included.
  if (prompt) {
    const template = name === 'none' ? null : (named ?? templateOf(prompt))
    const response = responseAfter(text, prompt)
    if (response !== null) return { prompt: read(prompt, template), response: closed(response, template) }
  }
  if (name === 'none') return { prompt: prompt ?? '', response: closed(text, null) }
  const template = named ?? templateOf(text)
  if (!template) {
    const why = prompt === undefined ? '' : 'it does not begin with its prompt, and '
    return {
      problem: `${why}no known chat template begins it; say ?template=NAME in the address, or none`,
    }
  }
  const cuts = cutsOf(text, template, mostTurns)
  const cut = (cuts.length > 1 && truths && cuts.find(({ before }) => truths.find(before))) || cuts[0]
  if (!cut) return { problem: `the template ${template.name} has no assistant turn in it` }
  return { prompt: cut.before, response: closed(text.slice(cut.at), template) }
}

/** null where the text does not begin with the prompt; tokens before either do not count. */
function responseAfter(text: string, prompt: string): string | null {
  if (text.startsWith(prompt)) return text.slice(prompt.length)
  const start = afterFillers(text)
  const bare = prompt.slice(afterFillers(prompt))
  return bare !== '' && text.startsWith(bare, start) ? text.slice(start + bare.length) : null
}

/** The rendered prompt's turns, without the assistant's that it opens; the text itself where no template is known. */
function read(prompt: string, template: ChatTemplate | null): Sample['prompt'] {
  const turns = template ? turnsOf(prompt, template) : []
  const asked = turns.at(-1)?.role === 'assistant' ? turns.slice(0, -1) : turns
  return asked.length > 0 ? asked : prompt
}
