/**
 * Rewards of steps from a server that returns a number for each token, as vLLM does for Skywork's process reward models with
 * their plugin (github.com/SkyworkAI/skywork-o1-prm-inference). These models were trained on steps that were tokenized one by
 * one, each followed by one token of its own, which no text is sure to be tokenized to. So the question is tokenized with a
 * control token after each step, which no value can hold, and is sent as ids with the step's token in that place.
 */
import type { Dispatched } from './dispatch/dispatch.ts'
import type { Rendered } from './interface/ask.ts'
import type { CancelToken } from './interface/cancel-token.ts'
import type { ModelConfig } from './interface/model-config.ts'
import { RenderedMessage } from './interface/question-json.ts'
import { type Asker, type LabelScoring, refused, TokenServer } from './label-scoring.ts'
import { isNumbers, itemsOf, type JsonObject, malformedReply, usage } from './transport/reply.ts'

/** The ids of the mark in the question and of the token that stands in its place. */
interface StepIds {
  readonly mark: number
  readonly step: number
}

/** Asks one model for the rewards of steps. */
export class TokenRewards {
  readonly #config: ModelConfig['rewards']
  readonly #to: LabelScoring
  readonly #server: TokenServer
  #ids: StepIds | null = null

  constructor(config: ModelConfig['rewards'], to: LabelScoring) {
    this.#config = config
    this.#to = to
    this.#server = new TokenServer(to, 'rewards')
  }

  /** One number per step. Rejects with AllAttemptsFailed. */
  async ask(question: Rendered, asker: Asker, stop: CancelToken): Promise<Dispatched<readonly number[]>> {
    const unprefixed = { ...asker, prefix: '' }
    const { mark, step } = await this.#stepIds(unprefixed, stop)
    const tokens = await this.#tokens(plain(question), unprefixed, stop)
    const places = tokens.flatMap((id, at) => (id === mark ? [at] : []))
    if (places.length === 0) throw refused('the question has no steps with the mark of rewards.mark')
    const { endpoint, task, activation } = this.#config
    const input = tokens.map((id) => (id === mark ? step : id))
    const body = endpoint === 'embeddings' ? { input } : { input, task, use_activation: activation ?? false }
    const path = endpoint === 'embeddings' ? '/v1/embeddings' : '/pooling'
    return this.#server.send(path, body, asker, stop, (value) => {
      const reply = this.#to.checked(value)
      const [item] = itemsOf(reply.data, 1)
      const numbers = numbersOf(item ?? {})
      if (numbers.length !== input.length)
        throw malformedReply(`${numbers.length} numbers for ${input.length} tokens`)
      const answer = places.map((at) => numbers[at] ?? Number.NaN)
      return { answer: activation === undefined ? answer.map(sigmoid) : answer, ...usage(reply) }
    })
  }

  async #stepIds(asker: Asker, stop: CancelToken): Promise<StepIds> {
    if (this.#ids) return this.#ids
    const { mark, step_token } = this.#config
    const [own, step, ...more] = await this.#tokens(mark + step_token, asker, stop)
    if (own === undefined || step === undefined || own === step || more.length > 0)
      throw refused('rewards.mark and rewards.step_token must be one token each')
    this.#ids = { mark: own, step }
    return this.#ids
  }

  #tokens(prompt: string, asker: Asker, stop: CancelToken): Promise<readonly number[]> {
    return this.#server.tokens({ prompt, add_special_tokens: false }, asker, stop)
  }
}

const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit))

function plain(question: Rendered): string {
  if (typeof question === 'string') return question
  const [only, ...more] = question
  if (!only || more.length > 0)
    throw refused('with rewards.returns: tokens, the question must be one prompt, not a conversation')
  if (RenderedMessage.imagesOf(only).length > 0)
    throw refused('with rewards.returns: tokens, the question cannot have images')
  return only.content
}

/** One number per token, alone or as a list of one. */
function numbersOf({ data, embedding }: JsonObject): readonly number[] {
  const list: unknown = data ?? embedding
  if (isNumbers(list)) return list
  if (!Array.isArray(list)) throw malformedReply('no list of numbers')
  return list.map((entry: unknown) => {
    if (!isNumbers(entry) || entry.length !== 1) throw malformedReply('not one number per token')
    return entry[0] as number
  })
}
