import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import type { Listener } from './feed.ts'

/** Characters that a listener may leave unread before it is let go. */
const mostUnread = 4 * 1024 * 1024
/** What the last bytes have to reach somebody who has been let go. */
const partingMs = 1000

/** A reply as a stream of events; `body` is what is sent. */
export function eventStream(
  reply: FastifyReply,
  mayLook: () => boolean,
  clock: Clock,
): { readonly body: Readable; readonly listener: Listener } {
  const { raw } = reply
  const body = new Readable({ read() {} })
  const listener: Listener = {
    mayLook,
    send(message) {
      if (body.readableLength + raw.writableLength > mostUnread) return false
      body.push(message)
      return true
    },
    end() {
      body.push(null)
      // Whoever reads nothing would keep a closing server waiting.
      const cancel = clock.after(partingMs, () => raw.destroy())
      if (raw.destroyed) cancel()
      else raw.once('close', cancel)
    },
  }
  return { body, listener }
}
