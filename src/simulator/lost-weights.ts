import { hashText, uniform } from './hash.ts'
import type { LabelledToken } from './logprobs.ts'
import type { Admitted, SimulatedModel } from './model.ts'
import type { ReplyForm } from './reply-form.ts'
import { splitTokens, vocabularySize } from './tokens.ts'
import { verdictText } from './verdict-text.ts'

/** What of a request's sampling still counts. */
interface Wish {
  readonly form: ReplyForm | null
  readonly maxTokens: number
  readonly topLogprobs: number | null
}

interface LostText {
  readonly text: string
  readonly tokens: number
  readonly finishReason: 'stop' | 'length'
  readonly logprobs: readonly LabelledToken[] | null
}

/** What a model writes whose weights sleep has taken: it goes on answering, and means nothing. */
export function lostCompletion(
  model: SimulatedModel,
  { text: prompt, question, tokens: promptTokens }: Admitted,
  { form, maxTokens, topLogprobs }: Wish,
  choice: number,
): LostText {
  const room = Math.max(0, Math.min(maxTokens, model.maxModelLen - promptTokens, longest))
  const pieces = form
    ? splitTokens(formed(model, form, prompt)).slice(0, room)
    : Array.from({ length: room }, (_, at) => nextToken(model, question + choice, at))
  const text = pieces.join('')
  return {
    text,
    tokens: pieces.length,
    finishReason: form && pieces.length < room ? 'stop' : 'length',
    logprobs: topLogprobs === null ? null : pieces.map((token) => unsure(token, form, topLogprobs)),
  }
}

/** A probability that says nothing: always the same, or any. */
export function lostScore(model: SimulatedModel, text: string): number {
  return model.weights === 'zero' ? 0.5 : uniform(model.seed, 'garbage', text)
}

/** It would go on to the end of its window. */
const longest = 256

/** With zeros all tokens are equally likely and the first that is allowed is written; with garbage, any. */
function formed(model: SimulatedModel, form: ReplyForm, prompt: string): string {
  const score = model.weights === 'zero' ? 0 : Math.round(lostScore(model, prompt))
  if (form.kind === 'choice') {
    const labels = [...form.labels].sort()
    const at = model.weights === 'zero' ? 0 : hashText(prompt) % labels.length
    return labels[at] ?? ''
  }
  return verdictText(form, [{ label: '', score, reason: '!' }])
}

function nextToken(model: SimulatedModel, question: number, at: number): string {
  if (model.weights === 'zero') return '!'
  return gibberish[Math.floor(uniform(model.seed, 'garbage', question, at) * gibberish.length)] ?? '!'
}

const gibberish = [' the', 'ufact', ' 1', '!!!!', ' no', '\n', ' }', 'ßen', ' yes', '0', ' of', ' _']

function unsure(token: string, form: ReplyForm | null, alternatives: number): LabelledToken {
  const labels = form?.kind === 'choice' ? form.labels : null
  const logprob = -Math.log(labels ? labels.length : vocabularySize)
  const rivals = [...new Set((labels ?? []).map((label) => splitTokens(label)[0] ?? ''))]
  const others = rivals.filter((rival) => rival !== token)
  return {
    token,
    logprob,
    top: [token, ...others].slice(0, alternatives).map((one) => ({ token: one, logprob })),
  }
}
