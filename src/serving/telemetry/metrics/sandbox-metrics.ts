import type { SandboxEvents, SandboxSnapshot } from '../../../scoring/sandboxes/sandbox.ts'
import { type Instruments, secondBuckets } from './instruments.ts'

/** Counts runs of programs, and what happens to the places where they run. */
export function sandboxMetrics(make: Instruments): SandboxEvents {
  const runs = make.histogram(
    'sandbox_duration_seconds',
    'Time in which a program ran on its cases, by outcome: ok (whatever the program did) or the failure of the sandbox.',
    ['sandbox', 'outcome'],
    secondBuckets,
  )
  const waits = make.histogram(
    'sandbox_queue_seconds',
    'Time that programs waited for their turn. Programs that did not wait are not counted.',
    ['sandbox'],
    secondBuckets,
  )
  const restarts = make.counter(
    'sandbox_restarts_total',
    'Processes that ran programs, ended by themselves, and were replaced.',
    ['sandbox', 'instance'],
  )
  const retries = make.counter(
    'sandbox_retries_total',
    'Programs that were run again after a failure that was not their own.',
    ['sandbox', 'kind'],
  )
  const ejections = make.counter('sandbox_ejections_total', 'Times a server was taken out of its pool.', [
    'sandbox',
    'instance',
  ])
  const returns = make.counter('sandbox_readmissions_total', 'Times a server was returned to its pool.', [
    'sandbox',
    'instance',
  ])
  return {
    ended: ({ sandbox, ms, outcome }) => runs(ms / 1000, sandbox, outcome),
    queued: ({ sandbox, ms }) => waits(ms / 1000, sandbox),
    restarted: ({ sandbox, instance }) => restarts(1, sandbox, instance),
    retried: ({ sandbox, kind }) => retries(1, sandbox, kind),
    ejected: ({ sandbox, instance }) => ejections(1, sandbox, instance),
    readmitted: ({ sandbox, instance }) => returns(1, sandbox, instance),
  }
}

/** Exposes the current state of every sandbox. */
export function exposeSandboxes(make: Instruments, sandboxes: () => readonly SandboxSnapshot[]): void {
  const read = (name: string, help: string, of: (sandbox: SandboxSnapshot) => number): void =>
    make.read('gauge', name, help, ['sandbox'], () =>
      sandboxes().map((sandbox) => ({ values: [sandbox.name], value: of(sandbox) })),
    )
  read('sandbox_waiting', 'Programs waiting for their turn.', ({ waiting }) => waiting)
  read(
    'sandbox_parked',
    'Programs waiting because no server of their sandbox is available.',
    ({ parked }) => parked?.questions ?? 0,
  )
  read(
    'sandbox_confined',
    '1 if programs are confined; 0 if they may do what the user of the gateway may.',
    ({ confinement }) => Number(confinement?.isConfined ?? true),
  )
  for (const [name, help, of] of [
    ['sandbox_in_flight', 'Programs that run at an instance.', 'inFlight'],
    ['sandbox_limit', 'Maximum programs that run at an instance.', 'limit'],
  ] as const)
    make.read('gauge', name, help, ['sandbox', 'instance'], () =>
      sandboxes().flatMap(({ name: sandbox, instances }) =>
        instances.map((instance) => ({ values: [sandbox, instance.address], value: instance[of] })),
      ),
    )
}
