import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { connectionTrouble } from '../../core/system-error.ts'
import { isObject, readJson } from '../../scoring/models/transport/reply.ts'
import { openConnections, send } from '../../scoring/models/transport/transport.ts'
import { UpstreamError } from '../../scoring/models/transport/upstream-error.ts'

const patienceMs = 10_000
const longestList = 4 * 1024 * 1024

/** The one model that all of these servers list. Throws RG_MODEL_FAILED where one does not answer or they list several. */
export async function servedModel(
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
