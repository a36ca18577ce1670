import type { FastifyInstance, FastifyRequest } from 'fastify'
import { WaitTime } from '../../scoring/gateway/gateway.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** null: nothing was scored for this request alone. */
    waitTime: WaitTime | null
  }
}

/** Makes room for the time that each request waits for others. */
export function measureWaits(app: FastifyInstance): void {
  app.decorateRequest('waitTime', null)
}

/** The measure of a request whose work begins here. */
export function timeWaits(request: FastifyRequest): WaitTime {
  const time = new WaitTime()
  request.waitTime = time
  return time
}

/** Of the milliseconds that a request took, those in which it waited for nobody; null: not measured. */
export function overheadMs({ waitTime }: FastifyRequest, ms: number, now: number): number | null {
  return waitTime ? Math.max(0, ms - waitTime.until(now)) : null
}
