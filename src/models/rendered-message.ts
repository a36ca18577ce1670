import type { Message } from '../sample/sample.ts'

/** A message that knows the pieces of its content: joined they would be copied, and take two bytes a character. */
export class RenderedMessage implements Message {
  readonly role: string
  readonly content: string
  // Private, so that a message is written and compared as what it says.
  readonly #pieces: readonly string[]

  constructor(role: string, pieces: readonly string[]) {
    this.role = role
    let content = ''
    for (const piece of pieces) content += piece
    this.content = content
    this.#pieces = pieces
  }

  /** What makes up a message's content, in its order. */
  static piecesOf(message: Message): readonly string[] {
    return #pieces in message ? message.#pieces : [message.content]
  }
}
