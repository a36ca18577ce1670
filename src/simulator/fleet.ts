import { Attempts } from './attempts.ts'
import type { SimulatedServerOptions } from './options.ts'
import { type SimulatedServer, startSimulatedServer } from './server.ts'

/**
 * Several servers of one model in this process, with one count of attempts. A port other than 0, and a
 * control port, is the first of `count` consecutive ones. If one cannot listen, all that could are closed.
 */
export async function startSimulatedServers(
  count: number,
  options: SimulatedServerOptions = {},
): Promise<readonly SimulatedServer[]> {
  const { port = 0, controlPort = 0, attempts = new Attempts() } = options
  const started: SimulatedServer[] = []
  try {
    for (let index = 0; index < count; index++) {
      const place = port === 0 ? 0 : port + index
      const control = controlPort === 0 ? options : { ...options, controlPort: controlPort + index }
      started.push(await startSimulatedServer({ ...control, attempts, port: place }))
    }
  } catch (error) {
    await Promise.all(started.map((server) => server.close()))
    throw error
  }
  return started
}
