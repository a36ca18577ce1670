import { once } from 'node:events'
import { connect } from 'node:net'
import type { SimulatedServer } from '../../src/simulator/index.ts'

/** One request as it is seen at the socket. */
export interface WireCall {
  /** Everything that has come so far, head and body. */
  readonly text: string
  /** The data of whole server-sent events so far, but `[DONE]`. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into chunks of many shapes
  readonly events: readonly any[]
  readonly isClosed: boolean
  /** The client goes away. */
  leave(): void
}

/** POSTs JSON on a connection of its own; resolves once it is sent. */
export async function wireCall(
  t: { teardown(fn: () => void): void },
  server: Pick<SimulatedServer, 'port'>,
  path: string,
  body: object,
): Promise<WireCall> {
  const socket = connect(server.port, '127.0.0.1')
  let text = ''
  let isClosed = false
  socket.setEncoding('utf8')
  socket.on('data', (piece: string) => {
    text += piece
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    isClosed = true
  })
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  const json = JSON.stringify(body)
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}`
  await new Promise<void>((resolve) => {
    socket.write(`${head}\r\n\r\n${json}`, () => resolve())
  })
  return {
    get text() {
      return text
    },
    get events() {
      return [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data = '']) => JSON.parse(data))
    },
    get isClosed() {
      return isClosed
    },
    leave: () => socket.destroy(),
  }
}

/** Whether a new connection is refused. */
export async function isRefused(server: Pick<SimulatedServer, 'port'>): Promise<boolean> {
  const socket = connect(server.port, '127.0.0.1')
  return new Promise((resolve) => {
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', () => resolve(true))
  })
}
