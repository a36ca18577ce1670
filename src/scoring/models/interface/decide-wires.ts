/** The APIs through which decision models are asked, and what each of them takes. */

import { type DecisionQuestion, inOneLine } from '../../../contract/decision.ts'
import type { Message } from '../../../core/sample/sample.ts'
import type { RenderedInput } from './ask.ts'
import { imagesOfInput, knownText, RenderedMessage } from './question-json.ts'

/** `choose`: the first token of a generated text, which any server has that reports logprobs. */
export const decideWires = ['choose', 'vllm', 'sglang', 'systemone', 'openai'] as const

export type DecideWire = (typeof decideWires)[number]

/** What one request takes. */
interface WireLimits {
  readonly questions: number
  readonly options: number
  readonly images: boolean
  /** Whether replies tell how much of the probability went to the answers. */
  readonly mass: boolean
  /** The kinds of servers that have it. */
  readonly backends: readonly string[]
}

/**
 * vLLM 0.33 serves 64 questions and 26 options, whatever its schema says; SGLang 0.5.23 labels its options A to Z and has no
 * limit of questions. `choose` needs every letter among the 20 most likely tokens.
 */
const limits: Readonly<Record<DecideWire, WireLimits>> = {
  choose: { questions: 1, options: 20, images: true, mass: true, backends: ['vllm', 'sglang', 'openai'] },
  vllm: { questions: 64, options: 26, images: false, mass: true, backends: ['vllm'] },
  sglang: { questions: 64, options: 26, images: true, mass: true, backends: ['sglang'] },
  systemone: {
    questions: 64,
    options: 255,
    images: true,
    mass: true,
    backends: ['vllm', 'sglang', 'openai'],
  },
  openai: { questions: 400, options: 255, images: true, mass: false, backends: ['openai'] },
}

export const wireLimits = (wire: DecideWire): WireLimits => limits[wire]

/** Why a wire cannot ask this question, with the limit; null: it can. */
export function wireFault(wire: DecideWire, { as }: DecisionQuestion, images: number): string | null {
  const { options, images: sees } = limits[wire]
  if ('choice' in as && as.choice.length > options)
    return `decide.wire ${wire} takes ${options} options, and the question has ${as.choice.length}`
  if (images > 0 && !sees) return `decide.wire ${wire} takes no images, and the question shows ${images}`
  return null
}

/** The letters of the answers of a question that is asked as text. */
export const answerLetters = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => String.fromCharCode(65 + at))

/** A question as a chat model reads it: the text that it is about, then the question with its answers by letter. */
export function asChat({ about, asked }: RenderedInput['decide']): readonly Message[] {
  const [message = { role: 'user', content: '' }] = about
  const pieces = [...RenderedMessage.piecesOf(message), knownText(lettered(asked))]
  return [new RenderedMessage('user', pieces, imagesOfInput(about).length > 0)]
}

function lettered({ question, as }: DecisionQuestion): string {
  const described: readonly (readonly [string, string | undefined])[] =
    'yesno' in as
      ? [
          ['yes', as.yesno.yes],
          ['no', as.yesno.no],
        ]
      : 'choice' in as
        ? as.choice.map(({ name, description }) => [name, description] as const)
        : as.levels.map((level) => [level, undefined] as const)
  const letters = answerLetters(described.length)
  const lines = described.map(
    ([name, description], at) =>
      `${letters[at]}: ${inOneLine(description ? `${name} - ${description}` : name)}`,
  )
  return `\n\nQuestion: ${question}\n${lines.join('\n')}\nAnswer with the letter of one option only.`
}
