import { type Endpoint, readNumberField } from './call.ts'
import { allFaultKinds, type FaultKind, type InjectedFault, type Recovery, recoveries } from './faults.ts'
import type { SimulatedModel } from './model.ts'
import type { SimulatedProcess } from './process.ts'
import { badRequest } from './refusal.ts'
import type { Route } from './routes.ts'

/**
 * POST /simulate/faults `{"faults": [...]}` replaces the faults. /simulate/restart `{"downMs", "loadingMs"}`
 * restarts the server, /simulate/kill ends it until a restart. GET /simulate/stats returns the counters,
 * /simulate/state the state.
 */
export function controlRoutes(model: SimulatedModel, process: SimulatedProcess): Route[] {
  return [
    order('POST', '/simulate/faults', ({ body }) => {
      const faults = readFaults(body.faults)
      model.faults.set(faults)
      return { json: { faults } }
    }),
    order('POST', '/simulate/restart', ({ body }) => {
      const restart = {
        downMs: readNumberField(body, 'downMs', 0),
        loadingMs: readNumberField(body, 'loadingMs', 0),
      }
      return { json: restart, sent: () => process.restart(restart) }
    }),
    order('POST', '/simulate/kill', () => ({ json: {}, sent: () => process.kill('killed') })),
    order('GET', '/simulate/stats', () => ({ json: model.stats() })),
    order('GET', '/simulate/state', () => ({ json: { state: process.state, diedOf: model.diedOf } })),
  ]
}

const order = (method: 'GET' | 'POST', path: string, endpoint: Endpoint): Route => ({
  method,
  path,
  endpoint,
  asksModel: false,
  isControl: true,
})

const numbers = ['rate', 'next', 'skip', 'afterMs', 'forMs', 'factor', 'ms', 'retryAfterS', 'tokens'] as const

/** Reads faults from JSON. Throws a Refusal (400) that names the problem. */
export function readFaults(value: unknown): InjectedFault[] {
  if (!Array.isArray(value)) throw badRequest('faults must be a list', 'faults')
  return (value as readonly unknown[]).map((item, index) => {
    const fault = (item ?? {}) as Record<string, unknown>
    const at = `faults[${index}]`
    if (!allFaultKinds.includes(fault.kind as FaultKind)) {
      throw badRequest(`${at}.kind must be one of ${allFaultKinds.join(', ')}`, `${at}.kind`)
    }
    for (const name of numbers) {
      if (fault[name] !== undefined && typeof fault[name] !== 'number') {
        throw badRequest(`${at}.${name} must be a number`, `${at}.${name}`)
      }
    }
    if (fault.path !== undefined && typeof fault.path !== 'string') {
      throw badRequest(`${at}.path must be a string`, `${at}.path`)
    }
    if (fault.recovery !== undefined && !recoveries.includes(fault.recovery as Recovery)) {
      throw badRequest(`${at}.recovery must be one of ${recoveries.join(', ')}`, `${at}.recovery`)
    }
    return fault as unknown as InjectedFault
  })
}
