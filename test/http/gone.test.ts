import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import Fastify from 'fastify'
import t from 'tap'
import { goneSignal } from '../../src/http/gone.ts'

t.test('a client that left is known, whether one asked before or after', async (t) => {
  const app = Fastify()
  let arrive = () => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  let see = (_aborted: readonly boolean[]): void => {}
  const seen = new Promise<readonly boolean[]>((resolve) => {
    see = resolve
  })
  app.post('/', async (_request, reply) => {
    const before = goneSignal(reply)
    arrive()
    await once(reply.raw, 'close')
    see([before.aborted, goneSignal(reply).aborted])
    return {}
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  client.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}')
  await arrived
  client.destroy()
  t.strictSame(await seen, [true, true])
})
