import { promptText } from '../../core/sample/sample.ts'
import type { ForwardReply } from '../../scoring/models/interface/ask.ts'
import { AskError, type Rendered } from '../../scoring/models/interface/ask.ts'
import type { Findings } from './finding.ts'
import type { OpenedReward } from './opened-reward.ts'

/** The maximum length of a judge's question. */
interface Window {
  /** In tokens. Infinity if it is unknown. */
  readonly limit: number
  /** True if a question fits. `answerTokens` replaces the length of the answer in it. */
  holds(question: Rendered, answer: string, answerTokens: number | null): Promise<boolean>
}

interface Counted {
  readonly count: number
  /** Infinity if the server does not report it. */
  readonly window: number
}

const patienceMs = 5_000
const bytesOfToken = 4
const tokensOfTurn = 16

/** The window of each model, from its servers' /tokenize or from its config. */
export class Windows {
  readonly #reward: OpenedReward
  readonly #findings: Findings
  readonly #signal: AbortSignal
  readonly #known = new Map<string, Promise<Window>>()

  constructor(opened: OpenedReward, findings: Findings, signal: AbortSignal) {
    this.#reward = opened
    this.#findings = findings
    this.#signal = signal
  }

  /** `verdictTokens` is what the judge's reply needs. */
  of(model: string, verdictTokens: number): Promise<Window> {
    const key = `${model} ${verdictTokens}`
    const known = this.#known.get(key) ?? this.#open(model, verdictTokens)
    this.#known.set(key, known)
    return known
  }

  async #open(model: string, verdictTokens: number): Promise<Window> {
    const config = this.#reward.resolved.models.get(model)
    const own = config?.max_prompt_tokens || Number.POSITIVE_INFINITY
    const first = config?.backend === 'openai' ? 'its kind of server cannot' : await this.#ask(model, 'x')
    if (typeof first === 'string') {
      const what = own === Number.POSITIVE_INFINITY ? 'its window is not known' : 'tokens were estimated'
      this.#findings.add('judge-not-reached', `${model} counts no tokens (${first}): ${what}`)
      return windowOf(own, async (text) => estimated(text))
    }
    return windowOf(Math.min(own, first.window - verdictTokens), async (text) => {
      const counted = await this.#ask(model, text)
      return typeof counted === 'string' ? estimated(text) : counted.count
    })
  }

  /** Returns a message if the server cannot count tokens. */
  async #ask(model: string, text: Rendered): Promise<Counted | string> {
    const { models, clock, resolved } = this.#reward
    // SGLang counts the tokens of plain text only.
    const isPlain = typeof text === 'string' || resolved.models.get(model)?.backend === 'sglang'
    try {
      const reply = await models.forward(model, {
        path: '/tokenize',
        body: isPlain ? { prompt: promptText(text) } : { messages: text },
        deadline: clock.now() + patienceMs,
        signal: this.#signal,
      })
      const found = counted(reply.status, await textOf(reply.body))
      const turns = isPlain && typeof text !== 'string' ? text.length : 0
      return typeof found === 'string' ? found : { ...found, count: found.count + turns * tokensOfTurn }
    } catch (error) {
      if (error instanceof AskError) return error.failure.detail
      throw error
    }
  }
}

function windowOf(limit: number, tokensOf: (text: Rendered) => Promise<number>): Window {
  return {
    limit,
    async holds(question, answer, answerTokens) {
      const own = Buffer.byteLength(answer)
      const more = answerTokens === null ? 0 : answerTokens - Math.floor(own / bytesOfToken)
      // A token has at least one byte, so short texts need no count.
      if (bytesOf(question) + Math.max(0, more) <= limit) return true
      return (await tokensOf(question)) + more <= limit
    },
  }
}

async function textOf(body: ForwardReply['body']): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(Buffer.from(piece as Uint8Array))
  return Buffer.concat(pieces).toString('utf8')
}

function counted(status: number, text: string): Counted | string {
  if (status !== 200) return `/tokenize answers with ${status}`
  try {
    const { count, max_model_len: window } = JSON.parse(text) as Record<string, unknown>
    if (typeof count === 'number')
      return { count, window: typeof window === 'number' ? window : Number.POSITIVE_INFINITY }
  } catch {
    // Not JSON; handled below.
  }
  return '/tokenize answers with no count'
}

const estimated = (text: Rendered): number => Math.ceil(bytesOf(text) / bytesOfToken)

/** Includes room for the chat template. */
const bytesOf = (text: Rendered): number =>
  typeof text === 'string'
    ? Buffer.byteLength(text)
    : text.reduce((sum, { content }) => sum + Buffer.byteLength(content) + tokensOfTurn, 0)
