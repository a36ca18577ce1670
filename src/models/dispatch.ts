import type { Clock } from '../clock.ts'
import type { AskName } from '../contract/index.ts'
import type { Attempt } from '../sample/failure.ts'
import type { Stop } from './abort.ts'
import type { Member } from './balance.ts'
import type { ModelEvents } from './events.ts'
import { Fault } from './fault.ts'
import type { Instance } from './instance.ts'
import type { InstancePool } from './pool.ts'
import type { RetryBudget } from './retry-budget.ts'
import { type Message, type Reply, send } from './transport.ts'

/** An answer with what it cost. */
export interface Reading<T> {
  readonly answer: T
  readonly prompt: number
  readonly completion: number
}

/** A message, and how to read its reply. */
export interface Work<T> {
  readonly ask: AskName
  readonly message: Message
  /** Throws Fault. */
  read(reply: Reply): Reading<T>
}

export interface Dispatched<T> extends Reading<T> {
  readonly instance: string
  readonly attempts: number
}

/** Everything that calls of one model share. */
export interface Dispatcher {
  readonly model: string
  readonly clock: Clock
  readonly events: ModelEvents
  readonly pool: InstancePool
  readonly budget: RetryBudget
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly pauseMs: number
  readonly random: () => number
}

/** A question that no instance answered, with every call made for it. */
export class Undone extends Error {
  override readonly name = 'Undone' as const
  readonly fault: Fault
  readonly attempts: readonly Attempt[]

  constructor(fault: Fault, attempts: readonly Attempt[]) {
    super(fault.message)
    this.fault = fault
    this.attempts = attempts
  }
}

const abandoned = (): Fault =>
  new Fault('cancelled', 'nobody waits for the answer', { remedy: 'give-up', blame: false })

/** Sends the work to one instance after the other until one answers. Rejects with Undone. */
export async function dispatch<T>(to: Dispatcher, work: Work<T>, stop: Stop): Promise<Dispatched<T>> {
  const { pool, budget, events, model } = to
  const attempts: Attempt[] = []
  let tried: Set<Instance> | null = null
  budget.earn()
  for (;;) {
    let member: Member | null = null
    let began = to.clock.now()
    try {
      member = pool.take(tried)
      if (!member) {
        member = await pool.wait(tried, stop, abandoned)
        const waited = to.clock.now() - began
        began += waited
        events.queued?.({ model, ms: waited })
      }
      const reading = await call(to, member.instance, work, stop)
      const { answer, prompt, completion } = reading
      return { answer, prompt, completion, instance: member.instance.address, attempts: attempts.length + 1 }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      const fault = error
      if (member) {
        const { address } = member.instance
        attempts.push({ instance: address, ms: Math.round(to.clock.now() - began), error: fault.message })
      }
      if (!member || fault.remedy === 'give-up' || stop.stopped || attempts.length > to.maxRetries)
        throw new Undone(fault, attempts)
      if (!budget.spend()) {
        events.retryDenied?.({ model })
        throw new Undone(fault, attempts)
      }
      tried ??= new Set()
      tried.add(member.instance)
      if (!pool.hasOther(tried)) {
        tried.clear()
        const pauseMs = to.pauseMs * 2 ** (attempts.length - 1) * (0.5 + to.random())
        await pause(to.clock, Math.max(pauseMs, fault.waitMs), stop)
        if (stop.stopped) throw new Undone(fault, attempts)
      }
      events.retried?.({ model, kind: fault.kind })
    }
  }
}

/** One call to an instance whose place is taken; gives the place back. Rejects with Fault. */
async function call<T>(to: Dispatcher, instance: Instance, work: Work<T>, stop: Stop): Promise<Reading<T>> {
  const { clock, events, model } = to
  const { ask } = work
  const started = clock.now()
  events.callStarted?.({ model, instance: instance.address, ask })
  const exchange = send(instance.connections, work.message)
  const cancelTimer = clock.after(to.timeoutMs, () =>
    exchange.abort(new Fault('judge_timeout', `no answer within ${to.timeoutMs / 1000} s`)),
  )
  const off = stop.on(() => exchange.abort(abandoned()))
  let tokens = { prompt: 0, completion: 0 }
  let outcome: 'ok' | 'abandoned' | Fault['kind'] = 'ok'
  try {
    const reading = work.read(await exchange.reply)
    tokens = { prompt: reading.prompt, completion: reading.completion }
    instance.succeeded(clock.now() - started)
    return reading
  } catch (error) {
    const fault = error instanceof Fault ? error : new Fault('judge_unreachable', 'the reply cannot be read')
    outcome = stop.stopped ? 'abandoned' : fault.kind
    if (!stop.stopped) blame(instance, fault)
    throw fault
  } finally {
    cancelTimer()
    off()
    instance.end()
    events.callEnded?.({
      model,
      instance: instance.address,
      ask,
      ms: clock.now() - started,
      outcome,
      tokens,
    })
  }
}

function blame(instance: Instance, fault: Fault): void {
  instance.errors += 1
  if (fault.waitMs > 0) instance.rest(fault.waitMs)
  if (fault.blame) instance.breaker.failed(fault.message.includes('ECONNREFUSED'))
  // The server answered, if not to our liking: it lives.
  else if (fault.kind !== 'cancelled') instance.breaker.succeeded()
}

function pause(clock: Clock, ms: number, stop: Stop): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      off()
      resolve()
    })
    const off = stop.on(() => {
      cancel()
      resolve()
    })
  })
}
