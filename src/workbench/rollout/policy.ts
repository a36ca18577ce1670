/**
 * The policy is the model whose answers are rewarded, on servers with an OpenAI API. Its servers form a pool
 * like a judge's: balanced, limited, retried and health-checked. A failed call is a failure and never an
 * answer.
 */

import { chatToolCalls } from '../../contract/sent-messages.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Failure, Json, Message } from '../../core/sample/sample.ts'
import { keepSecret } from '../../core/secrets.ts'
import { connectionTrouble } from '../../core/system-error.ts'
import { addressFault, addressOf } from '../../scoring/models/interface/address.ts'
import {
  AskError,
  type ForwardReply,
  type Rendered,
  type Sampling,
} from '../../scoring/models/interface/ask.ts'
import { type BackendName, modelConfig } from '../../scoring/models/interface/model-config.ts'
import { openModels } from '../../scoring/models/models.ts'
import { isObject, readJson } from '../../scoring/models/transport/reply.ts'
import { openConnections, send } from '../../scoring/models/transport/transport.ts'
import { UpstreamError } from '../../scoring/models/transport/upstream-error.ts'
import { readConversation } from '../../trainers/chat/conversation.ts'
import { chatMessage } from '../../trainers/chat/rollout.ts'

/** The policy options of the command line. */
export interface PolicyOptions {
  /** The addresses of its servers, with or without `/v1` at the end. */
  readonly urls: readonly string[]
  /** null: the model that its servers list. */
  readonly model: string | null
  readonly backend: BackendName
  /** The maximum number of answers in flight on one server. */
  readonly concurrency: number
  /** The timeout of one answer, in seconds. */
  readonly timeoutS: number
  /** How long an answer waits while no server is alive, in seconds. */
  readonly waitS: number
  /** The environment variable that holds the API key. */
  readonly apiKeyEnv?: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock?: Clock
}

interface PolicyQuestion {
  /** Messages go to the chat endpoint; a text is completed. */
  readonly prompt: Rendered
  /** The functions that the policy may call, as OpenAI's chat API takes them. Not for a plain text. */
  readonly tools?: readonly Json[] | undefined
  /** Identifies the answer. Calls with equal keys may be shared. */
  readonly key: string
  /** Overrides the servers' defaults. Without a seed, results vary. */
  readonly sampling: Sampling
  readonly signal: AbortSignal
}

export interface PolicyAnswer {
  readonly text: string
  /** `length`: the answer was cut at the token limit. */
  readonly finishReason: string
  readonly tokens: number
  /** The whole turn, if it is more than its text: calls of tools, reasoning. */
  readonly turn?: Message
}

/** An open policy. The caller closes it. */
export interface Policy {
  /** The model's name on its servers. */
  readonly model: string
  /** The maximum number of answers in flight on all servers. */
  readonly limit: number
  /** Resolves with an answer or a failure. Rejects only with the signal's reason. */
  ask(question: PolicyQuestion): Promise<PolicyAnswer | Failure>
  close(): Promise<void>
}

const longestMs = 20 * 86_400_000

/**
 * Opens the pool. Throws RG_COMMAND_INVALID for wrong options and RG_MODEL_FAILED if the model's name is
 * unknown.
 */
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
    async ask({ prompt, tools, key, sampling, signal }) {
      try {
        if (typeof prompt !== 'string' && (tools || prompt.some(({ toolCalls }) => toolCalls))) {
          const body = { ...sampling, ...(tools && { tools }), messages: prompt.map(sentMessage) }
          const deadline = clock.now() + timeoutS * 1000 + waitS * 1000
          return await turnIn(
            models.forward('policy', { path: '/v1/chat/completions', body, deadline, signal }),
          )
        }
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

/** As OpenAI's chat API takes it: with arguments as JSON. */
function sentMessage(message: Message): object {
  const { toolCalls } = message
  return { ...chatMessage(message), ...(toolCalls && { tool_calls: chatToolCalls(toolCalls) }) }
}

/** The turn in a reply of the chat endpoint. */
async function turnIn(replying: Promise<ForwardReply>): Promise<PolicyAnswer | Failure> {
  const { status, body } = await replying
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(Buffer.from(piece as Uint8Array))
  if (status !== 200) return failed(`its server answered ${status}`, status === 429 || status >= 500)
  try {
    const reply: unknown = JSON.parse(Buffer.concat(pieces).toString('utf8'))
    const [choice, ...others] =
      isObject(reply) && Array.isArray(reply.choices) ? (reply.choices as unknown[]) : []
    if (!isObject(choice) || others.length > 0)
      return failed('its server did not answer with one choice', true)
    const { finish_reason: reason, message } = choice
    if (reason !== 'stop' && reason !== 'length' && reason !== 'tool_calls')
      return failed('its server did not finish the answer', reason !== 'content_filter')
    const [turn, ...more] = readConversation([message])
    if (!turn || more.length > 0 || turn.role !== 'assistant')
      return failed('its server did not answer with one turn', true)
    const usage = isObject(reply) && isObject(reply.usage) ? reply.usage.completion_tokens : undefined
    const tokens = typeof usage === 'number' ? usage : 0
    const isText = Object.keys(turn).every((name) => name === 'role' || name === 'content')
    return { text: turn.content, finishReason: reason, tokens, ...(!isText && { turn }) }
  } catch {
    return failed("its server's answer cannot be read", true)
  }
}

const failed = (detail: string, retryable: boolean): Failure => ({ kind: 'policy_failed', retryable, detail })

const patienceMs = 10_000
const longestList = 4 * 1024 * 1024

/**
 * The one model that all servers list. Throws RG_MODEL_FAILED if a server does not answer or they share
 * several models.
 */
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
    `${common.length === 0 ? 'the servers have no model in common' : 'the servers have several models in common'}: name one. ${listed.join('; ')}`,
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
