import { hideSecrets } from './secrets.ts'

/** All error codes of requests, configs and the command line. A sample's failure has a kind instead. */
const statusOf = {
  RG_CONFIG_INVALID: 500,
  RG_FUNCTION_INVALID: 500,
  RG_OPTIONS_INVALID: 500,
  RG_REQUEST_INVALID: 400,
  RG_REQUEST_TIMEOUT: 408,
  RG_REQUEST_TOO_LARGE: 413,
  RG_HEADERS_TOO_LARGE: 431,
  RG_MEDIA_TYPE: 415,
  RG_REWARD_UNKNOWN: 404,
  RG_NOT_FOUND: 404,
  RG_METHOD_NOT_ALLOWED: 405,
  RG_UNAUTHORIZED: 401,
  RG_FORBIDDEN: 403,
  RG_OVERLOADED: 429,
  RG_ATTEMPT_CONFLICT: 409,
  RG_CURSOR_UNKNOWN: 410,
  RG_DISK_FAILED: 503,
  RG_RELOAD_REFUSED: 409,
  RG_CLOSING: 503,
  RG_SAMPLES_FAILED: 502,
  RG_MODEL_FAILED: 502,
  RG_COMMAND_INVALID: 500,
  RG_INPUT_INVALID: 500,
  RG_INTERNAL: 500,
} as const

/** Public: codes never change. */
export type ErrorCode = keyof typeof statusOf

/** Every code, for the test that compares this table with the docs. */
export const errorCodes = Object.keys(statusOf) as readonly ErrorCode[]

/** A mistake at one place of a file or a body, and how to fix it. */
export interface Problem {
  /** `file:line:column: steps[2].weight`, or the field of a request body. */
  readonly path: string
  readonly message: string
}

/** Messages may quote names from a request or a file, which can be megabytes long. */
const mostOfMessage = 4000
/** Problems per error. A body can have a mistake in each of its members. */
const mostProblems = 500

/** Truncates a message that quotes too much. */
export const cutMessage = (message: string, most = mostOfMessage): string =>
  message.length <= most ? message : `${message.slice(0, most)}... (${message.length} characters)`

// Secrets are hidden in slightly more than is shown, so that a secret at the cut does not appear in part.
const shown = (message: string): string => cutMessage(hideSecrets(cutMessage(message, 2 * mostOfMessage)))

/**
 * The only error class that crosses module borders on purpose. Its code is a public contract, its message is
 * not. Messages show no secrets.
 *
 * @example
 * ```ts
 * import { GatewayError, openGateway } from 'reward-gateway'
 *
 * try {
 *   await openGateway({ configs: ['rewards/'] })
 * } catch (error) {
 *   if (!(error instanceof GatewayError)) throw error
 *   for (const { path, message } of error.problems) console.error(`${path}: ${message}`)
 * }
 * ```
 */
export class GatewayError extends Error {
  override readonly name = 'GatewayError' as const
  readonly code: ErrorCode
  readonly statusCode: number
  readonly problems: readonly Problem[]
  /** Seconds after which the same request may be admitted. undefined: unknown. */
  readonly retryAfterS: number | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; problems?: readonly Problem[]; retryAfterS?: number } = {},
  ) {
    super(shown(message), options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.statusCode = statusOf[code]
    this.problems = (options.problems ?? []).slice(0, mostProblems).map(({ path, message }) => ({
      path: shown(path),
      message: shown(message),
    }))
    this.retryAfterS = options.retryAfterS
  }
}
