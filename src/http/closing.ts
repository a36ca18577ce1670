import type { FastifyInstance } from 'fastify'

/**
 * Once the server closes, each reply under way is the last on its connection. Else a client that keeps connections open
 * would keep the process alive for as long, and one that `isLeaving` tells of would send into a connection that ends.
 */
export function endConnections(app: FastifyInstance, isLeaving: () => boolean): void {
  let isClosing = false
  app.addHook('preClose', (done) => {
    isClosing = true
    done()
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (isClosing || isLeaving()) reply.header('connection', 'close')
    done(null, payload)
  })
  // A streamed reply has told its headers before.
  app.addHook('onResponse', (_request, _reply, done) => {
    if (isClosing) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
}
