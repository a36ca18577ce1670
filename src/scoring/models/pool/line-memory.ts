import { questionBytes, type RenderedInput } from '../api/ask.ts'
import { RenderedMessage } from '../api/rendered-message.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** The memory that waiting questions take, over all models of a process. */
export class LineMemory {
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Nothing further fits. */
  get isFull(): boolean {
    return this.#bytes >= this.#maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Counts these questions with their texts for as long as `work` takes. Rejects with UpstreamError `overloaded` where they are parked
   * (no instance can be asked) and do not fit; a line that moves is bounded by what is let in.
   */
  async holding<T>(
    questions: number,
    textBytes: number,
    isParked: boolean,
    work: () => Promise<T>,
  ): Promise<T> {
    const bytes = questions * questionBytes + textBytes
    if (isParked && this.#bytes + bytes > this.#maxBytes)
      throw new UpstreamError(
        'overloaded',
        'no instance answers, and the memory for questions that wait is full',
        {
          remedy: 'give-up',
          blame: false,
        },
      )
    this.#bytes += bytes
    try {
      return await work()
    } finally {
      this.#bytes -= bytes
    }
  }
}

/** Of a body as it is sent; a text may take two bytes a character. */
export const bytesOfBody = (body: string | Buffer | null): number =>
  typeof body === 'string' ? 2 * body.length : (body?.length ?? 0)

/** Of a question that is not written yet; texts that many questions share are not counted. */
export function bytesOfInput(input: RenderedInput[keyof RenderedInput]): number {
  if (typeof input === 'string') return 2 * input.length
  if ('question' in input) return bytesOfInput(input.question)
  let characters = 0
  for (const part of input) {
    if (typeof part === 'string') characters += part.length
    else
      for (const piece of RenderedMessage.piecesOf(part))
        if (typeof piece === 'string') characters += piece.length
  }
  return 2 * characters
}
