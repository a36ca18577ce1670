import type { FastifyReply } from 'fastify'

/** Aborted when the client goes away before its answer is written, or has gone already. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const { raw } = reply
  const left = () => {
    if (!raw.writableFinished) controller.abort()
  }
  if (raw.destroyed) left()
  else raw.once('close', left)
  return controller.signal
}
