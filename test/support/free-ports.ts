import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Systems give ports from 32768 on to whoever asks for any: another test could be given one before it is used. */
const [lowest, highest] = [12_000, 32_000]

/** Ports of the loopback that nobody listens at now, one after another. */
export async function freePorts(count: number): Promise<number[]> {
  for (;;) {
    const first = lowest + Math.floor(Math.random() * (highest - lowest - count))
    const ports = Array.from({ length: count }, (_, index) => first + index)
    const servers = await Promise.all(ports.map(listening))
    const opened = servers.filter((server) => server !== null)
    await Promise.all(opened.map((server) => new Promise((resolve) => server.close(resolve))))
    if (opened.length === count) return ports
  }
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1)
  return port
}

/** null: somebody else listens there. */
async function listening(port: number): Promise<Server | null> {
  const server = createServer()
  const isFree = await once(server.listen(port, '127.0.0.1'), 'listening').catch(() => null)
  return isFree && server
}
