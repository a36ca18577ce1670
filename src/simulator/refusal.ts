/** A model server's error reply, in vLLM's format. */
export class Refusal extends Error {
  override readonly name = 'Refusal' as const
  readonly status: number
  readonly type: string
  readonly param: string | null

  constructor(status: number, type: string, message: string, param: string | null = null) {
    super(message)
    this.status = status
    this.type = type
    this.param = param
  }

  toJSON(): object {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.status } }
  }
}

/** 400: a field is missing or has the wrong type. */
export function badRequest(message: string, param: string | null = null): Refusal {
  return new Refusal(400, 'BadRequestError', message, param)
}

/** 404 in vLLM's words. */
export function unknownModel(model: string): Refusal {
  return new Refusal(404, 'NotFoundError', `The model \`${model}\` does not exist.`, 'model')
}

/** 400 in vLLM's words: the prompt fills the model's window. */
export function tooLong(limit: number, tokens: number): Refusal {
  return badRequest(
    `This model's maximum context length is ${limit} tokens. However, your request has ${tokens} input tokens. ` +
      'Please reduce the length of the input messages.',
    'input_tokens',
  )
}

/** 503 while a server is not ready. */
export function loading(): Refusal {
  return new Refusal(503, 'ServiceUnavailableError', 'The model is loading.')
}
