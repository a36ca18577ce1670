import type { Message } from '../../../core/sample/sample.ts'

/** A text with what it is between the quotes of JSON. */
export interface KnownText {
  readonly text: string
  readonly json: string
}

/** A part of a message's content. */
export type Piece = string | KnownText

/** A message that knows the pieces of its content: joined they would be copied, and take two bytes a character. */
export class RenderedMessage implements Message {
  readonly role: string
  readonly content: string
  // Private, so that a message is written and compared as what it says.
  readonly #pieces: readonly Piece[]

  constructor(role: string, pieces: readonly Piece[]) {
    this.role = role
    let content = ''
    for (const piece of pieces) content += typeof piece === 'string' ? piece : piece.text
    this.content = content
    this.#pieces = pieces
  }

  /** What makes up a message's content, in its order. */
  static piecesOf(message: Message): readonly Piece[] {
    return #pieces in message ? message.#pieces : [message.content]
  }
}
