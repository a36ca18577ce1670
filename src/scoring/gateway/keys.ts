import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { keepSecret } from '../../core/secrets.ts'
import { reasonOf } from '../../core/system-error.ts'
import type { KeyConfig, Scope } from '../plan/gateway-config.ts'

export type { Scope }

/** A configured key. `name` is its name in the config, used for logs and limits. */
export interface Caller {
  readonly name: string
  readonly scopes: ReadonlySet<Scope>
  /** Limit on requests in progress. */
  readonly maxInFlight?: number
  /** Limit on samples in progress. */
  readonly maxSamples?: number
  readonly maxRollouts?: number
  readonly ratePerS?: number
}

/** The API keys and their scopes. Stores only hashes. */
export interface Keys {
  /** Whether `score` and `read` need no key, because no key has either of them. `admin` always needs one. */
  readonly isOpen: boolean
  /** The scopes that at least one key has. */
  readonly scopes: ReadonlySet<Scope>
  /** The caller that the key belongs to, or null. Runs in constant time. */
  callerOf(key: string): Caller | null
}

const shortest = 16
const hashed = /^sha256:([0-9a-f]{64})$/

/**
 * Reads the keys that gateway.yaml names, from environment variables and files. A source holds one or more keys, separated by
 * white space, each plain or as `sha256:<hex>`. Throws RG_CONFIG_INVALID with every problem. `option` is the option of the command
 * line that names the only entry, where no gateway.yaml does.
 */
export function readKeys(
  configs: Readonly<Record<string, KeyConfig>>,
  env: Readonly<Record<string, string | undefined>>,
  option?: string,
): Keys {
  const problems: Problem[] = []
  const known: { readonly hash: Buffer; readonly caller: Caller }[] = []
  for (const [name, config] of Object.entries(configs)) {
    const path = option ?? `gateway.yaml: keys.${name}`
    const {
      max_in_flight: maxInFlight,
      max_samples: maxSamples,
      max_rollouts: maxRollouts,
      rate_per_s: ratePerS,
    } = config
    const caller: Caller = {
      name,
      scopes: new Set(config.scopes),
      ...(maxInFlight !== undefined && { maxInFlight }),
      ...(maxSamples !== undefined && { maxSamples }),
      ...(maxRollouts !== undefined && { maxRollouts }),
      ...(ratePerS !== undefined && { ratePerS }),
    }
    const entries = textOf(config, env, path, problems)?.split(/\s+/).filter(Boolean)
    if (entries?.length === 0) problems.push({ path, message: 'holds no key' })
    for (const entry of entries ?? []) {
      const [, hex] = hashed.exec(entry) ?? []
      if (hex === undefined && entry.length < shortest)
        problems.push({
          path,
          message: `a key needs at least ${shortest} characters; openssl rand -hex 32 makes one`,
        })
      const hash = hex === undefined ? hashOf(entry) : Buffer.from(hex, 'hex')
      if (known.some((other) => other.hash.equals(hash)))
        problems.push({
          path,
          message: option ? 'holds the same key twice' : 'another entry of keys holds the same key',
        })
      known.push({ hash, caller })
    }
  }
  if (problems.length > 0)
    throw new GatewayError(
      'RG_CONFIG_INVALID',
      `the ${option ? `key of ${option}` : 'keys of gateway.yaml'} cannot be used`,
      { problems },
    )
  const scopes = new Set(known.flatMap(({ caller }) => [...caller.scopes]))
  return {
    isOpen: !scopes.has('score') && !scopes.has('read'),
    scopes,
    callerOf(key) {
      const hash = hashOf(key)
      let found: Caller | null = null
      for (const entry of known) if (timingSafeEqual(entry.hash, hash)) found = entry.caller
      return found
    },
  }
}

const hashOf = (key: string): Buffer => createHash('sha256').update(key).digest()

function textOf(
  { env: variable, file }: KeyConfig,
  env: Readonly<Record<string, string | undefined>>,
  path: string,
  problems: Problem[],
): string | null {
  if (variable !== undefined) {
    const text = Object.hasOwn(env, variable) ? env[variable] : undefined
    if (text) {
      keepSecret(variable, text)
      return text
    }
    problems.push({ path, message: `the environment variable ${variable} is not set` })
    return null
  }
  try {
    return readFileSync(file ?? '', 'utf8')
  } catch (error) {
    problems.push({ path, message: `${file}: ${reasonOf(error)}` })
    return null
  }
}
