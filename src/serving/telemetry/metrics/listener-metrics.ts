import type { Instruments } from './instruments.ts'

/** Counts failures of listeners and callbacks; the label is a closed set of names. */
export function listenerMetrics(make: Instruments): (listener: string) => void {
  const failures = make.counter(
    'listener_errors_total',
    'Listeners and callbacks that threw or rejected; no sample is touched.',
    ['listener'],
  )
  return (listener) => failures(1, listener)
}
