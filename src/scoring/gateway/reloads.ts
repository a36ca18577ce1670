import { GatewayError, type Problem } from '../../core/errors.ts'

/** What is told of reloads, whoever asked for them. */
export interface ReloadEvents {
  /** `refusal`: why what was served stays; null: what was read is served now. */
  ended?(refusal: unknown): void
}

/** What became of the last reload. */
export interface LastReload {
  /** ISO 8601, UTC. */
  readonly at: string
  /** null: what was read is served. */
  readonly refusal: {
    readonly code: string
    readonly message: string
    readonly problems: readonly Problem[]
  } | null
}

/** `refusal`: what the reload rejected with; null: nothing. A fault of the gateway itself is named, not quoted. */
export function reloadEnded(refusal: unknown): LastReload {
  const at = new Date().toISOString()
  if (refusal === null) return { at, refusal: null }
  if (!(refusal instanceof GatewayError))
    return {
      at,
      refusal: {
        code: 'RG_INTERNAL',
        message: 'the gateway made a mistake; its log says more',
        problems: [],
      },
    }
  const { code, message, problems } = refusal
  return { at, refusal: { code, message, problems } }
}
