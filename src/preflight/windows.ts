import type { Forwarded } from '../models/forwarded.ts'
import { AskError, type Rendered } from '../models/models.ts'
import type { Findings } from './finding.ts'
import type { Subject } from './subject.ts'

/** How long a judge's question may be, and how long one is. */
export interface Window {
  /** Infinity: it is not known. */
  readonly limit: number
  /** Tokens; an upper bound where that is within the limit already. */
  tokensOf(text: Rendered): Promise<number>
}

interface Counted {
  readonly count: number
  readonly windowOf: number
}

const patienceMs = 5_000
const bytesOfToken = 4
const tokensOfTurn = 16

/** The window of each model, asked of its servers' /tokenize, else of its config. */
export class Windows {
  readonly #subject: Subject
  readonly #findings: Findings
  readonly #signal: AbortSignal
  readonly #known = new Map<string, Promise<Window>>()

  constructor(subject: Subject, findings: Findings, signal: AbortSignal) {
    this.#subject = subject
    this.#findings = findings
    this.#signal = signal
  }

  of(model: string, answerTokens: number): Promise<Window> {
    const key = `${model} ${answerTokens}`
    const known = this.#known.get(key) ?? this.#open(model, answerTokens)
    this.#known.set(key, known)
    return known
  }

  async #open(model: string, answerTokens: number): Promise<Window> {
    const config = this.#subject.resolved.models.get(model)
    const own = config?.max_prompt_tokens || Number.POSITIVE_INFINITY
    const first = config?.backend === 'openai' ? null : await this.#ask(model, 'x')
    if (first === null) {
      this.#findings.add('judge-not-reached', `${model} does not count tokens for us`)
      return { limit: own, tokensOf: async (text) => Math.ceil(bytesOf(text) / bytesOfToken) }
    }
    const limit = Math.min(own, first.windowOf - answerTokens)
    return {
      limit,
      tokensOf: async (text) => {
        const bytes = bytesOf(text)
        if (bytes <= limit) return bytes
        return (await this.#ask(model, text))?.count ?? Math.ceil(bytes / bytesOfToken)
      },
    }
  }

  /** null where no server answers as vLLM does. */
  async #ask(model: string, text: Rendered): Promise<Counted | null> {
    const { models, clock } = this.#subject
    try {
      const reply = await models.forward(model, {
        path: '/tokenize',
        body: typeof text === 'string' ? { prompt: text } : { messages: text },
        deadline: clock.now() + patienceMs,
        signal: this.#signal,
      })
      return counted(reply.status, await textOf(reply.body))
    } catch (error) {
      if (error instanceof AskError) return null
      throw error
    }
  }
}

async function textOf(body: Forwarded['body']): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(Buffer.from(piece as Uint8Array))
  return Buffer.concat(pieces).toString('utf8')
}

function counted(status: number, text: string): Counted | null {
  if (status !== 200) return null
  try {
    const { count, max_model_len: windowOf } = JSON.parse(text) as Record<string, unknown>
    return typeof count === 'number' && typeof windowOf === 'number' ? { count, windowOf } : null
  } catch {
    return null
  }
}

/** With room for what a chat template adds; a token is never less than a byte. */
const bytesOf = (text: Rendered): number =>
  typeof text === 'string'
    ? Buffer.byteLength(text)
    : text.reduce((sum, { content }) => sum + Buffer.byteLength(content) + tokensOfTurn, 0)
