import type { FastifyReply } from 'fastify'

/** Aborted when the client goes away before its answer is written, or has gone already. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  whenGone(reply, () => controller.abort())
  return controller.signal
}

/** Calls `left` when the client goes away before its answer is written, or has gone already. */
export function whenGone({ raw }: FastifyReply, left: () => void): void {
  const closed = () => {
    if (!raw.writableFinished) left()
  }
  if (raw.destroyed) closed()
  else raw.once('close', closed)
}
