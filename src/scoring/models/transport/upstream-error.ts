import type { FailureKind } from '../../../core/sample/sample.ts'

/** `retry`: another instance may succeed. `give-up`: the question itself is invalid. */
type Remedy = 'retry' | 'give-up'

/** The failure of one call. `blame`: it counts against the instance. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError' as const
  readonly kind: FailureKind
  readonly remedy: Remedy
  readonly blame: boolean
  /** Milliseconds that the server asked for in Retry-After; 0 if none. */
  readonly waitMs: number
  /** The server read the question and failed on it. In a batch, one of the questions may be the cause. */
  readonly isAboutContent: boolean
  /** The connection failed, not the model behind it. */
  readonly isConnection: boolean
  /** Connection refused: nothing listens at the address. */
  readonly isRefused: boolean
  /** The server cannot have acted on the request: it was not reached, or it refused with 429 or 503. */
  readonly isUnsent: boolean
  /** The server hangs, and the call was aborted to be made elsewhere. */
  readonly isHang: boolean
  /** Status 503: the server takes no questions now. */
  readonly isUnavailable: boolean
  /** The server was away. Says nothing about the question. */
  readonly isAway: boolean

  constructor(
    kind: FailureKind,
    detail: string,
    options: {
      remedy?: Remedy
      blame?: boolean
      waitMs?: number
      isAboutContent?: boolean
      isConnection?: boolean
      isRefused?: boolean
      isUnsent?: boolean
      isHang?: boolean
      isUnavailable?: boolean
      isAway?: boolean
    } = {},
  ) {
    super(detail)
    this.kind = kind
    this.remedy = options.remedy ?? 'retry'
    this.blame = options.blame ?? this.remedy === 'retry'
    this.waitMs = options.waitMs ?? 0
    this.isAboutContent = options.isAboutContent ?? false
    this.isConnection = options.isConnection ?? false
    this.isHang = options.isHang ?? false
    this.isRefused = options.isRefused ?? false
    this.isUnsent = options.isUnsent ?? this.isRefused
    this.isUnavailable = options.isUnavailable ?? false
    this.isAway = options.isAway ?? (this.isConnection || this.isHang || kind === 'judge_timeout')
  }
}

/** The error of a call that nobody waits for any more. */
export const abandoned = (): UpstreamError =>
  new UpstreamError('cancelled', 'nobody waits for the answer', { remedy: 'give-up', blame: false })

/** Returns the result of `read`, or the UpstreamError that it throws. */
export function orFault<T>(read: () => T): T | UpstreamError {
  try {
    return read()
  } catch (error) {
    if (error instanceof UpstreamError) return error
    throw error
  }
}
