/**
 * Label probabilities through vLLM's /generative_scoring, which also knows labels that are not among the 20 most likely tokens.
 * It takes token ids, returns one label's probability per call, and silently truncates a prompt that is too long
 * (vllm/entrypoints/generate/generative_scoring/serving.py). So prompts are tokenized and counted first.
 */
import type { AskName, Asks } from '../../contract/index.ts'
import type { Settings } from './backends/backend.ts'
import { shares } from './backends/generated-text.ts'
import {
  AllAttemptsFailed,
  type Dispatched,
  type Dispatcher,
  dispatch,
  type UpstreamRequest,
} from './dispatch/dispatch.ts'
import type { RenderedInput } from './interface/ask.ts'
import { allOrNone, type CancelToken } from './interface/cancel-token.ts'
import { imagesOfInput } from './interface/question-json.ts'
import { loadOf } from './pool/capacity.ts'
import type { ParsedReply } from './transport/reply.ts'
import { itemsOf, type JsonObject, malformedReply, readJson, usage } from './transport/reply.ts'
import { UpstreamError } from './transport/upstream-error.ts'

type Shares = Asks['choose']['answer']

/** How the servers of one model are asked. */
export interface LabelScoring {
  readonly dispatcher: Dispatcher
  readonly headers: Record<string, string>
  /** The model name that its servers serve. */
  readonly serves: string
  /** Throws UpstreamError if the reply does not come from the model. */
  checked(body: unknown): JsonObject
}

/** What the calls for one question have in common. */
export type Asker = Pick<UpstreamRequest<unknown>, 'prefix' | 'request' | 'deadline' | 'trace' | 'watch'>

const keptLabels = 256

/** Sends JSON to a model's servers, and has them tokenize. */
export class TokenServer {
  readonly #to: LabelScoring
  readonly #ask: AskName

  constructor(to: LabelScoring, ask: AskName) {
    this.#to = to
    this.#ask = ask
  }

  /** The ids of a prompt's tokens. */
  async tokens(what: object, asker: Asker, stop: CancelToken): Promise<readonly number[]> {
    const { answer } = await this.send('/tokenize', what, asker, stop, (value) => {
      const { tokens, max_model_len: window } = value as JsonObject
      const isList = Array.isArray(tokens) && tokens.length > 0 && tokens.every(Number.isSafeInteger)
      if (!isList || !Number.isSafeInteger(window)) throw malformedReply('no tokens')
      if (tokens.length >= (window as number))
        throw new UpstreamError('prompt_too_long', "the prompt is longer than the model's window", {
          remedy: 'give-up',
          blame: false,
        })
      return { answer: tokens as number[], prompt: 0, completion: 0 }
    })
    return answer
  }

  /** Rejects with AllAttemptsFailed. */
  send<T>(
    path: string,
    body: object,
    asker: Asker,
    stop: CancelToken,
    read: (value: unknown) => ParsedReply<T>,
  ): Promise<Dispatched<T>> {
    const { dispatcher, headers, serves } = this.#to
    const text = JSON.stringify({ model: serves, ...body })
    const message = { method: 'POST' as const, path, headers, body: text }
    return dispatch(
      dispatcher,
      { ...asker, ask: this.#ask, load: loadOf(text), message, read: (reply) => read(readJson(reply)) },
      stop,
    )
  }
}

/** Scores labels for one model and caches their token ids. */
export class LabelScorer {
  readonly #to: LabelScoring
  readonly #server: TokenServer
  readonly #ids = new Map<string, Promise<number>>()

  constructor(to: LabelScoring) {
    this.#to = to
    this.#server = new TokenServer(to, 'choose')
  }

  /** Rejects with AllAttemptsFailed. */
  async ask(
    { question, labels }: RenderedInput['choose'],
    asker: Asker,
    { sampling }: Settings,
    stop: CancelToken,
  ): Promise<Dispatched<Shares>> {
    if (imagesOfInput(question).length > 0)
      throw refused('/generative_scoring takes tokens, but the question has images: choose.endpoint')
    const ids = await allOrNone(
      stop,
      labels.map((label) => (own) => this.#idOf(label, asker, own)),
    )
    if (new Set(ids).size < ids.length) throw refused('two labels are the same token')
    const thinking = sampling.thinking ?? false
    const prompt =
      typeof question === 'string'
        ? { prompt: question }
        : { messages: question, chat_template_kwargs: { enable_thinking: thinking, thinking } }
    const tokens = await this.#server.tokens(prompt, { ...asker, prefix: '' }, stop)
    const scored = await allOrNone(
      stop,
      ids.map((_, at) => (own) => this.#probability(tokens, rotated(ids, at), asker, own)),
    )
    const mass = new Map(labels.map((label, at) => [label, (scored[at] as Dispatched<number>).answer]))
    const [first] = scored as [Dispatched<number>]
    return {
      instance: first.instance,
      attempts: scored.reduce((sum, { attempts }) => sum + attempts, 0),
      prompt: first.prompt,
      completion: scored.reduce((sum, { completion }) => sum + completion, 0),
      answer: undone(() => shares(mass)),
    }
  }

  async #probability(
    tokens: readonly number[],
    ids: readonly number[],
    asker: Asker,
    stop: CancelToken,
  ): Promise<Dispatched<number>> {
    const body = {
      query: tokens.slice(0, -1),
      items: [tokens.slice(-1)],
      label_token_ids: ids,
      apply_softmax: false,
      add_special_tokens: false,
    }
    return this.#server.send('/generative_scoring', body, asker, stop, (value) => {
      const reply = this.#to.checked(value)
      const [item] = itemsOf(reply.data, 1)
      const score = item?.score
      if (typeof score !== 'number' || !(score >= 0 && score <= 1.001))
        throw malformedReply('a score is not a probability')
      return { answer: score, ...usage(reply) }
    })
  }

  /** Questions share the lookup of a label. If the question that made it is cancelled, another repeats it. */
  async #idOf(label: string, asker: Asker, stop: CancelToken): Promise<number> {
    for (;;) {
      const known = this.#ids.get(label)
      if (!known) break
      try {
        return await known
      } catch (error) {
        const isGone = error instanceof AllAttemptsFailed && error.fault.kind === 'cancelled'
        if (!isGone || stop.aborted) throw error
        if (this.#ids.get(label) === known) this.#ids.delete(label)
      }
    }
    const own = { ...asker, prefix: '', trace: undefined }
    const asked = this.#server
      .tokens({ prompt: label, add_special_tokens: false }, own, stop)
      .then((tokens) => {
        if (tokens.length === 1) return tokens[0] as number
        throw refused(`a label must be one token, not ${tokens.length}`)
      })
    asked.catch(() => this.#ids.get(label) === asked && this.#ids.delete(label))
    if (this.#ids.size >= keptLabels) this.#ids.clear()
    this.#ids.set(label, asked)
    return asked
  }
}

/** The ids with the one at `at` first, because the server returns the probability of the first. */
const rotated = (ids: readonly number[], at: number): number[] => [...ids.slice(at), ...ids.slice(0, at)]

/** The failure of a question that the model's servers cannot answer. */
export const refused = (detail: string): AllAttemptsFailed =>
  new AllAttemptsFailed(new UpstreamError('judge_rejected', detail, { remedy: 'give-up', blame: false }), [])

/** Runs `read` and wraps an UpstreamError in AllAttemptsFailed. */
function undone<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof UpstreamError ? new AllAttemptsFailed(error, []) : error
  }
}
