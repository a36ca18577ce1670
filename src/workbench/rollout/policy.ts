/**
 * The policy: the model whose answers are rewarded, on servers that speak OpenAI's API. Its servers are a pool as a
 * judge's are: balanced, limited, retried, taken out while they fail. A call that fails is a failure, never an answer.
 */

import { type Clock, systemClock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Failure } from '../../core/sample/sample.ts'
import { keepSecret } from '../../core/secrets.ts'
import { connectionTrouble } from '../../core/system-error.ts'
import { addressFault, addressOf } from '../../scoring/models/api/address.ts'
import { AskError, type Rendered, type Sampling } from '../../scoring/models/api/ask.ts'
import { modelConfig } from '../../scoring/models/api/model-config.ts'
import { openModels } from '../../scoring/models/models.ts'
import { isObject, readJson } from '../../scoring/models/transport/reply.ts'
import { openConnections, send } from '../../scoring/models/transport/transport.ts'
import { UpstreamError } from '../../scoring/models/transport/upstream-error.ts'

/** What the command line says of the policy's servers. */
export interface PolicyOptions {
  /** Addresses of its servers; `/v1` at the end may stand or be left out. */
  readonly urls: readonly string[]
  /** null: what its servers list. */
  readonly model: string | null
  readonly backend: 'vllm' | 'sglang' | 'openai'
  /** Answers under way at one server. */
  readonly concurrency: number
  /** For one answer. */
  readonly timeoutS: number
  /** How long an answer waits while no server is alive. */
  readonly waitS: number
  /** Name of the environment variable that holds the servers' key. */
  readonly apiKeyEnv?: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock?: Clock
}

/** One answer that is wanted. */
interface PolicyQuestion {
  /** Messages are asked as a chat, a text is continued. */
  readonly prompt: Rendered
  /** Names the answer: equal keys may share one call. */
  readonly key: string
  /** Over what its servers do by themselves; without a seed they draw as they like. */
  readonly sampling: Sampling
  readonly signal: AbortSignal
}

/** What the policy wrote. */
export interface PolicyAnswer {
  readonly text: string
  /** `length`: it ran into its limit of tokens. */
  readonly finishReason: string
  readonly tokens: number
}

/** Opened over its servers; closed by who opened it. */
export interface Policy {
  /** As its servers name it. */
  readonly model: string
  /** Answers that may be under way at once. */
  readonly limit: number
  /** An answer, or the failure that left none. Rejects only with the signal's reason. */
  ask(question: PolicyQuestion): Promise<PolicyAnswer | Failure>
  close(): Promise<void>
}

const longestMs = 20 * 86_400_000

/** Opens the pool. Throws RG_COMMAND_INVALID for wrong settings, RG_MODEL_FAILED where no model can be named. */
export async function openPolicy(options: PolicyOptions): Promise<Policy> {
  const { urls, backend, concurrency, timeoutS, waitS, apiKeyEnv, env, clock = systemClock } = options
  for (const url of urls) {
    const fault = addressFault(url)
    if (fault !== null)
      throw new GatewayError(
        'RG_COMMAND_INVALID',
        `--policy: must be ${fault.replace('api_key_env', '--policy-key-env')}`,
      )
  }
  const addresses = [...new Set(urls.map((url) => addressOf(url).replace(/\/v1$/, '')))]
  const apiKey = apiKeyEnv === undefined ? undefined : env[apiKeyEnv]
  if (apiKeyEnv !== undefined) keepSecret(apiKeyEnv, apiKey)
  if (apiKeyEnv !== undefined && !apiKey)
    throw new GatewayError('RG_COMMAND_INVALID', `the environment variable ${apiKeyEnv} is not set`)
  const headers: Record<string, string> = apiKey ? { authorization: `Bearer ${apiKey}` } : {}
  const model = options.model ?? (await servedModel(addresses, headers, clock))
  const config = modelConfig.safeParse({
    backend,
    model,
    instances: addresses,
    ...(apiKeyEnv !== undefined && { api_key_env: apiKeyEnv }),
    max_in_flight: concurrency,
    timeout_s: timeoutS,
    wait_for_instance: waitS,
    max_reply_bytes: 64 * 1024 * 1024,
    cache: 'never',
  })
  if (!config.success) {
    const [issue] = config.error.issues
    throw new GatewayError('RG_COMMAND_INVALID', `the policy's ${issue?.path.join('.')}: ${issue?.message}`)
  }
  const models = openModels({ policy: config.data }, { clock, env })
  return {
    model,
    limit: concurrency * addresses.length,
    async ask({ prompt, key, sampling, signal }) {
      try {
        const { answer, tokens } = await models.ask({
          model: 'policy',
          ask: 'generate',
          input: prompt,
          sampling,
          key,
          draw: 0,
          prefix: '',
          deadline: clock.now() + longestMs,
          signal,
        })
        const { text, finishReason } = answer
        if (finishReason === 'content_filter') return failed('its server filtered the answer', false)
        return { text, finishReason, tokens: tokens.completion }
      } catch (error) {
        if (!(error instanceof AskError)) throw error
        signal.throwIfAborted()
        return { ...error.failure, kind: 'policy_failed' }
      }
    },
    close: () => models.close(),
  }
}

const failed = (detail: string, retryable: boolean): Failure => ({ kind: 'policy_failed', retryable, detail })

const patienceMs = 10_000
const longestList = 4 * 1024 * 1024

/** The one model that all of these servers list. Throws RG_MODEL_FAILED where one does not answer or they list several. */
async function servedModel(
  addresses: readonly string[],
  headers: Readonly<Record<string, string>>,
  clock: Clock,
): Promise<string> {
  const lists = await Promise.all(addresses.map((address) => modelsAt(address, headers, clock)))
  const [first = []] = lists
  const common = first.filter((name) => lists.every((list) => list.includes(name)))
  const [only] = common
  if (only !== undefined && common.length === 1) return only
  const listed = lists.map((names, at) => `${addresses[at]} serves ${names.join(', ') || 'nothing'}`)
  throw new GatewayError(
    'RG_MODEL_FAILED',
    `${common.length === 0 ? 'no model is served by all' : 'several models are served'}: name one. ${listed.join('; ')}`,
  )
}

async function modelsAt(
  address: string,
  headers: Readonly<Record<string, string>>,
  clock: Clock,
): Promise<readonly string[]> {
  const { origin, pathname } = new URL(address)
  const { pool } = openConnections(origin, patienceMs)
  const message = { method: 'GET', path: '/v1/models', headers: { ...headers }, body: null } as const
  const exchange = send(pool, message, {
    basePath: pathname === '/' ? '' : pathname,
    maxReplyBytes: longestList,
  })
  const cancel = clock.after(patienceMs, () =>
    exchange.abort(new UpstreamError('judge_timeout', `no answer within ${patienceMs / 1000} s`)),
  )
  try {
    const body = readJson(await exchange.reply)
    const list = isObject(body) && Array.isArray(body.data) ? (body.data as readonly unknown[]) : []
    return list.flatMap((one) => (isObject(one) && typeof one.id === 'string' ? [one.id] : []))
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    throw new GatewayError('RG_MODEL_FAILED', `${address}/v1/models: ${connectionTrouble(error.message)}`, {
      cause: error,
    })
  } finally {
    cancel()
    await pool.destroy()
  }
}
