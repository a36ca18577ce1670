import type { Clock } from '../clock.ts'
import type { Stop } from './abort.ts'
import type { Member } from './balance.ts'
import type { ModelEvents } from './events.ts'
import { abandoned, Fault } from './fault.ts'
import { beginCall, tokenFacts, traced } from './traced-call.ts'
import { send } from './transport.ts'
import type { Reading, Work } from './work.ts'

const noTokens = { prompt: 0, completion: 0 }

/** One call to an instance whose place is taken; gives the place back. Rejects with Fault. */
export async function call<T>(
  to: { model: string; clock: Clock; events: ModelEvents; timeoutMs: number },
  member: Member,
  work: Work<T>,
  stop: Stop,
): Promise<Reading<T>> {
  const { clock, events, model } = to
  const { ask } = work
  const { instance } = member
  const { address } = instance
  const started = clock.now()
  events.callStarted?.({ model, instance: address, ask })
  const span = beginCall(work.trace, model, address, ask)
  const message = traced(work.message, span?.trace ?? work.trace)
  const exchange = send(instance.connections, message, instance.basePath)
  const cancelTimer = clock.after(to.timeoutMs, () =>
    exchange.abort(new Fault('judge_timeout', `no answer within ${to.timeoutMs / 1000} s`)),
  )
  const off = stop.on(() => exchange.abort(abandoned()))
  let tokens = noTokens
  let outcome: 'ok' | 'abandoned' | Fault['kind'] = 'ok'
  try {
    const reading = work.read(await exchange.reply)
    tokens = reading
    instance.succeeded(clock.now() - started)
    return reading
  } catch (error) {
    const fault = error instanceof Fault ? error : new Fault('judge_unreachable', 'the reply cannot be read')
    outcome = stop.aborted ? 'abandoned' : fault.kind
    if (stop.aborted) instance.abandoned(clock.now() - started)
    else instance.failed(fault)
    throw fault
  } finally {
    cancelTimer()
    off()
    member.end()
    span?.end(outcome === 'ok' ? null : outcome, tokenFacts(tokens))
    events.callEnded?.({ model, instance: address, ask, ms: clock.now() - started, outcome, tokens })
  }
}
