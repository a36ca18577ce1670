import type { FunctionEvents } from '../../../scoring/functions/events.ts'
import { type Instruments, secondBuckets } from './instruments.ts'

/** Calls of authors' code, and workers that were ended. */
export function functionMetrics(make: Instruments): FunctionEvents {
  const calls = make.histogram(
    'function_duration_seconds',
    "Time in an author's code.",
    ['function', 'op', 'status'],
    secondBuckets,
  )
  const failures = make.counter(
    'function_failures_total',
    'Calls that failed by a fault of the function: it threw, took too long, ended its process, or returned what is no verdict.',
    ['function', 'op', 'cause'],
  )
  const restarts = make.counter('worker_restarts_total', 'Workers that were ended.', ['function', 'why'])
  return (event) => {
    if (event.type === 'call') calls(event.ms / 1000, event.name, event.op, event.status)
    if (event.type === 'failed') failures(1, event.name, event.op, event.cause)
    if (event.type === 'worker_restarted') restarts(1, event.name, event.why)
  }
}
