import { Stop, whenAborted } from './abort.ts'
import type { Member } from './balance.ts'
import { abandoned } from './call.ts'
import { Fault } from './fault.ts'
import type { Forwarded, ForwardRequest } from './forwarded.ts'
import type { Instance } from './instance.ts'
import type { Model } from './model.ts'
import { refusal } from './reply.ts'

/** Passes a request on under the pool's limits. Retried elsewhere only before a reply began. Rejects with Fault. */
export async function forward(model: Model, request: ForwardRequest): Promise<Forwarded> {
  const stop = new Stop()
  const off = whenAborted(request.signal, () => stop.stop())
  const { dispatcher } = model.parts
  const cancelTimer = dispatcher.clock.after(Math.max(request.deadline - dispatcher.clock.now(), 0), () =>
    stop.stop(),
  )
  let isOver = false
  const leave = () => {
    if (isOver) return
    isOver = true
    off()
    cancelTimer()
    model.leave()
  }
  try {
    await model.enter(stop)
  } catch (error) {
    off()
    cancelTimer()
    throw error
  }
  try {
    return await sent(model, request, stop, leave)
  } catch (error) {
    leave()
    throw error
  }
}

async function sent(
  model: Model,
  request: ForwardRequest,
  stop: Stop,
  leave: () => void,
): Promise<Forwarded> {
  const { dispatcher, headers } = model.parts
  const { pool, budget } = dispatcher
  const body = JSON.stringify({ ...request.body, model: model.config.model })
  const tried = new Set<Instance>()
  budget.earn()
  for (let retries = 0; ; retries += 1) {
    const member = pool.take(tried) ?? (await pool.wait(tried, '', stop, abandoned))
    try {
      return await once(model, member, { ...request, body, headers }, stop, leave)
    } catch (error) {
      const fault = error instanceof Fault ? error : new Fault('judge_unreachable', 'the connection failed')
      tried.add(member.instance)
      if (stop.stopped || retries >= dispatcher.maxRetries || !pool.hasOther(tried) || !budget.spend())
        throw fault
      dispatcher.events.retried?.({ model: dispatcher.model, kind: fault.kind })
    }
  }
}

async function once(
  model: Model,
  { instance }: Member,
  request: { path: string; body: string; headers: Record<string, string> },
  stop: Stop,
  leave: () => void,
): Promise<Forwarded> {
  const { clock } = model.parts.dispatcher
  const abort = new AbortController()
  const off = stop.on(() => abort.abort())
  const began = clock.now()
  try {
    const { statusCode, headers, body } = await instance.connections.request({
      method: 'POST',
      path: instance.basePath + request.path,
      headers: request.headers,
      body: request.body,
      signal: abort.signal,
    })
    if (statusCode >= 500 || statusCode === 429) {
      const text = await body.text()
      throw refusal({ status: statusCode, retryAfter: String(headers['retry-after'] ?? ''), text })
    }
    instance.succeeded(clock.now() - began)
    body.once('close', () => {
      off()
      instance.end()
      leave()
    })
    // Whoever reads the body hears of its errors; an unread one must not end the process.
    body.on('error', () => {})
    return {
      status: statusCode,
      contentType: String(headers['content-type'] ?? 'application/json'),
      body,
      instance: instance.address,
    }
  } catch (error) {
    off()
    const fault = error instanceof Fault ? error : new Fault('judge_unreachable', 'the connection failed')
    if (!stop.stopped) instance.failed(fault)
    instance.end()
    throw stop.stopped ? abandoned() : fault
  }
}
