import { type Fault, type FaultKind, faultKinds } from './faults.ts'
import type { SimulatedModel } from './model.ts'
import { badRequest } from './refusal.ts'
import type { Route } from './routes.ts'

/** POST /simulate/faults `{"faults": [...]}` replaces the faults; GET /simulate/stats tells the counters. */
export function controlRoutes(model: SimulatedModel): Route[] {
  return [
    {
      method: 'POST',
      path: '/simulate/faults',
      asksModel: false,
      endpoint: ({ body }) => {
        const faults = readFaults(body.faults)
        model.faults.set(faults)
        return { json: { faults } }
      },
    },
    {
      method: 'GET',
      path: '/simulate/stats',
      asksModel: false,
      endpoint: () => ({ json: model.stats() }),
    },
  ]
}

const numbers = ['rate', 'next', 'skip', 'factor', 'ms', 'retryAfterS'] as const

/** Faults from JSON; throws a Refusal (400) that names what is wrong. */
function readFaults(value: unknown): Fault[] {
  if (!Array.isArray(value)) throw badRequest('faults must be a list', 'faults')
  return (value as readonly unknown[]).map((item, index) => {
    const fault = (item ?? {}) as Record<string, unknown>
    const at = `faults[${index}]`
    if (!faultKinds.includes(fault.kind as FaultKind)) {
      throw badRequest(`${at}.kind must be one of ${faultKinds.join(', ')}`, `${at}.kind`)
    }
    for (const name of numbers) {
      if (fault[name] !== undefined && typeof fault[name] !== 'number') {
        throw badRequest(`${at}.${name} must be a number`, `${at}.${name}`)
      }
    }
    if (fault.path !== undefined && typeof fault.path !== 'string') {
      throw badRequest(`${at}.path must be a string`, `${at}.path`)
    }
    return fault as unknown as Fault
  })
}
