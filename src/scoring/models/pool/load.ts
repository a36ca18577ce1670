/** What a call weighs at a server. */
export interface Load {
  readonly questions: number
  /** Estimated: what it holds, and what may be generated for it where that is bounded. */
  readonly tokens: number
}

/** Tokens of a text of so many bytes: a quarter, as in English. */
export const estimatedTokens = (bytes: number): number => Math.ceil(bytes / 4)

/** The load of a call with this body. `generated`: tokens that may be written for all of its questions. */
export const loadOf = (body: string | Buffer, questions = 1, generated = 0): Load => ({
  questions,
  tokens: estimatedTokens(typeof body === 'string' ? Buffer.byteLength(body) : body.length) + generated,
})
