import { readFile } from 'node:fs/promises'
import type { Clock } from '../../core/clock.ts'
import { hideSecrets } from '../../core/secrets.ts'
import { connectionTrouble, reasonOf } from '../../core/system-error.ts'
import { backendOf } from '../../scoring/models/backends/backend-of.ts'
import { addressFault, addressOf, isAllowed, readAddresses } from '../../scoring/models/interface/address.ts'
import type { ModelConfig } from '../../scoring/models/interface/model-config.ts'
import { isObject } from '../../scoring/models/transport/reply.ts'
import { openConnections, type Reply, send } from '../../scoring/models/transport/transport.ts'
import { UpstreamError } from '../../scoring/models/transport/upstream-error.ts'

/** The result of asking one server about one model. */
export interface Connection {
  readonly model: string
  readonly address: string
  /** null: the server answers and serves the model. */
  readonly trouble: string | null
  readonly ms: number
}

/**
 * Asks every server of every model in parallel whether it is alive and serves the model. Generates nothing.
 * SGLang's /health is not called, because it wakes a sleeping server.
 */
export async function connectAll(
  models: ReadonlyMap<string, ModelConfig>,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<readonly Connection[]> {
  const found = await Promise.all(
    [...models].map(async ([model, config]) => {
      const { urls, trouble } = await addressesOf(config)
      const lost = trouble === null ? [] : [{ model, address: config.instances_file ?? '', trouble, ms: 0 }]
      return { places: urls.map((url) => ({ model, config, url })), lost }
    }),
  )
  const places = found.flatMap((one) => one.places)
  const asked = await Promise.all(
    places.map(async ({ model, config, url }) => {
      const began = clock.now()
      const trouble = await troubleOf(url, config, env, clock)
      return { model, address: hideSecrets(url), trouble, ms: Math.round(clock.now() - began) }
    }),
  )
  return [...asked, ...found.flatMap(({ lost }) => lost)]
}

/** The addresses of the config and of its instances_file, and the problem with that file if there is one. */
async function addressesOf(
  config: ModelConfig,
): Promise<{ readonly urls: readonly string[]; readonly trouble: string | null }> {
  const own = config.instances.map((place) => (typeof place === 'string' ? place : place.url))
  const { instances_file: file } = config
  if (file === undefined) return { urls: own, trouble: null }
  try {
    const listed = readAddresses(await readFile(file, 'utf8'))
    if (listed === null)
      return { urls: own, trouble: 'has neither one address a line nor a JSON list of addresses' }
    const wrong = listed.find((url) => addressFault(url) !== null || !isAllowed(addressOf(url), config.allow))
    const urls = [...own, ...listed.filter((url) => addressFault(url) === null)]
    return {
      urls,
      trouble:
        wrong === undefined ? null : `${hideSecrets(wrong)} is not within the model's 'allow' patterns`,
    }
  } catch (error) {
    return { urls: own, trouble: reasonOf(error) }
  }
}

async function troubleOf(
  url: string,
  config: ModelConfig,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<string | null> {
  return withServer(url, config, env, clock, async (asked) => {
    if (config.service) return serviceTrouble(config.service, config, asked)
    if (config.backend === 'vllm') {
      const { status } = await asked(backendOf(config).healthPath)
      if (status !== 200) return `its health probe answers ${status}${hintOf(status, config)}`
    }
    const { status, text } = await asked('/v1/models')
    if (status !== 200) return `/v1/models answers ${status}${hintOf(status, config)}`
    const served = namesIn(text)
    if (served === null) return '/v1/models lists no models: is this the address of a model server?'
    const names = [config.model, ...config.served_model_aliases]
    const isServed =
      config.backend === 'openai' || !config.health.model || names.some((name) => served.includes(name))
    return isServed ? null : `it serves ${served.slice(0, 5).join(', ') || 'no model'}, not ${config.model}`
  })
}

type Env = Readonly<Record<string, string | undefined>>
/** The settings of a model or of a sandbox by which its servers are reached. */
type Reached = Pick<ModelConfig, 'api_key_env' | 'connect_timeout_s'> & {
  readonly health: { readonly timeout_s: number }
}
/** Sends a GET, or a POST with a body. */
export type AskServer = (path: string, body?: object) => Promise<Reply>

/**
 * What `use` finds at a server, or the trouble with reaching it. All requests together may take as long as one health probe.
 * They take the same connections as questions do.
 */
export async function withServer<T>(
  url: string,
  config: Reached,
  env: Env,
  clock: Clock,
  use: (ask: AskServer) => Promise<T>,
): Promise<T | string> {
  const key = config.api_key_env === undefined ? undefined : env[config.api_key_env]
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...(key && { authorization: `Bearer ${key}` }),
  }
  const { origin, pathname } = new URL(url)
  const seconds = config.health.timeout_s
  const { pool } = openConnections(origin, config.connect_timeout_s * 1000)
  const limits = { basePath: pathname.replace(/\/+$/, ''), maxReplyBytes: 1 << 24 }
  let late = () => {}
  const cancel = clock.after(seconds * 1000, () => late())
  const ask: AskServer = (path, body) => {
    const message = body
      ? ({ method: 'POST', path, headers, body: JSON.stringify(body) } as const)
      : ({ method: 'GET', path, headers, body: null } as const)
    const exchange = send(pool, message, limits)
    late = () => exchange.abort(new UpstreamError('judge_timeout', `no answer within ${seconds} s`))
    return exchange.reply
  }
  try {
    return await use(ask)
  } catch (error) {
    return hideSecrets(connectionTrouble(reasonOf(error)))
  } finally {
    cancel()
    await pool.destroy()
  }
}

/** A service without a path for its health is only connected to: any answer will do. */
async function serviceTrouble(
  { health, path }: NonNullable<ModelConfig['service']>,
  config: ModelConfig,
  asked: AskServer,
): Promise<string | null> {
  const { status } = await asked(health === '' ? path : health)
  if (status === 401 || status === 403) return `it answers ${status}${hintOf(status, config, 'the service')}`
  return health === '' || status === 200
    ? null
    : `${health} answers ${status}${hintOf(status, config, 'the service')}`
}

/** What a status may mean, behind the status. */
export const hintOf = (
  status: number,
  { api_key_env: variable }: Pick<ModelConfig, 'api_key_env'>,
  isAbout = 'a model server',
): string => {
  if (status === 401 || status === 403)
    return variable === undefined ? ': it needs a key; set api_key_env' : `: is the key in ${variable} right?`
  return status === 404 ? `: is this the address of ${isAbout}?` : ''
}

/** The model names of a /v1/models reply. null if it is not such a list. */
function namesIn(text: string): readonly string[] | null {
  try {
    const body: unknown = JSON.parse(text)
    if (!isObject(body) || !Array.isArray(body.data)) return null
    return body.data.flatMap((entry: unknown) =>
      isObject(entry) && typeof entry.id === 'string' ? entry.id.slice(0, 200) : [],
    )
  } catch {
    return null
  }
}
