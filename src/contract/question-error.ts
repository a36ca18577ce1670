/** Thrown where an author's question is made of what is no text. The message is public: it names the mistake and quotes no sample. */
export class QuestionError extends TypeError {
  override readonly name = 'QuestionError' as const

  /** `maker`: the function that the author called; the stack begins with the author's own line. */
  constructor(message: string, maker?: (...given: never[]) => unknown) {
    super(message)
    if (maker) Error.captureStackTrace(this, maker)
  }
}
