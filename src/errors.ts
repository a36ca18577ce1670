/** The one table of codes: requests, configs and the command line. A sample's failure has a kind instead. */
const statusOf = {
  RG_CONFIG_INVALID: 500,
  RG_FUNCTION_INVALID: 500,
  RG_OPTIONS_INVALID: 500,
  RG_REQUEST_INVALID: 400,
  RG_REQUEST_TOO_LARGE: 413,
  RG_MEDIA_TYPE: 415,
  RG_REWARD_UNKNOWN: 404,
  RG_NOT_FOUND: 404,
  RG_METHOD_NOT_ALLOWED: 405,
  RG_UNAUTHORIZED: 401,
  RG_FORBIDDEN: 403,
  RG_OVERLOADED: 429,
  RG_RELOAD_REFUSED: 409,
  RG_CLOSING: 503,
  RG_SAMPLES_FAILED: 502,
  RG_MODEL_FAILED: 502,
  RG_COMMAND_INVALID: 500,
  RG_INPUT_INVALID: 500,
  RG_INTERNAL: 500,
} as const

/** Public: what it is called never changes. */
export type ErrorCode = keyof typeof statusOf

/** Every code, for the test that holds the table and its page together. */
export const errorCodes = Object.keys(statusOf) as readonly ErrorCode[]

/** A mistake at one place of a file or a body, with what to do about it. */
export interface Problem {
  /** `file:line:column: steps[2].weight`, or the field of a body. */
  readonly path: string
  readonly message: string
}

/** The only error class that leaves a room on purpose; its code is public, its message is not. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError' as const
  readonly code: ErrorCode
  readonly statusCode: number
  readonly problems: readonly Problem[]
  /** Seconds after which the same request may be let in; undefined: nothing is known of that. */
  readonly retryAfterS: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; problems?: readonly Problem[]; retryAfterS?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.statusCode = statusOf[code]
    this.problems = options.problems ?? []
    this.retryAfterS = options.retryAfterS
  }
}
