import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ModelTime } from '../gateway/gateway.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** null: nothing was scored for this request alone. */
    modelTime: ModelTime | null
  }
}

/** Makes room for the time that each request's questions were at models. */
export function measureModelTime(app: FastifyInstance): void {
  app.decorateRequest('modelTime', null)
}

/** The measure of a request whose work begins here. */
export function timeModels(request: FastifyRequest): ModelTime {
  const time = new ModelTime()
  request.modelTime = time
  return time
}

/** Of the milliseconds that a request took, those without a question at a model; null: not measured. */
export function overheadMs({ modelTime }: FastifyRequest, ms: number, now: number): number | null {
  return modelTime ? Math.max(0, ms - modelTime.until(now)) : null
}
