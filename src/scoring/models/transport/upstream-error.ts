import type { FailureKind } from '../../../core/sample/sample.ts'

/** What may follow a failed call: a call elsewhere, or none because the question itself is at fault. */
export type Remedy = 'retry' | 'give-up'

/** One call's failure, in the words of a sample's failure. `blame`: it counts against the instance. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError' as const
  readonly kind: FailureKind
  readonly remedy: Remedy
  readonly blame: boolean
  /** What the server asked for in Retry-After; 0: nothing. */
  readonly waitMs: number
  /** The server read the question and failed at it: one of several questions may be the cause. */
  readonly isAboutContent: boolean
  /** The connection failed, not the model behind it. */
  readonly isConnection: boolean
  /** Nothing listens at the address. */
  readonly isRefused: boolean
  /** The server hangs: the call was given up to be made elsewhere. */
  readonly isHang: boolean
  /** 503: the server takes no question now. */
  readonly isUnavailable: boolean
  /** Nobody was there to answer: it says nothing about the question. */
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
    this.isUnavailable = options.isUnavailable ?? false
    this.isAway = options.isAway ?? (this.isConnection || this.isHang || kind === 'judge_timeout')
  }
}

/** What a call fails with that nobody waits for any more. */
export const abandoned = (): UpstreamError =>
  new UpstreamError('cancelled', 'nobody waits for the answer', { remedy: 'give-up', blame: false })

/** What `read` returns, or the UpstreamError that it throws. */
export function orFault<T>(read: () => T): T | UpstreamError {
  try {
    return read()
  } catch (error) {
    if (error instanceof UpstreamError) return error
    throw error
  }
}
