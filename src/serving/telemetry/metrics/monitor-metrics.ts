import { figures } from '../monitors/figures.ts'
import type { WatchedRun } from '../monitors/monitors.ts'
import type { Instruments } from './instruments.ts'

/** The monitors as Prometheus metrics, read when they are asked for: a run that is forgotten leaves no series behind. */
export function exposeMonitors(make: Instruments, runs: () => readonly WatchedRun[]): void {
  const labels = ['reward', 'run'] as const
  for (const { name, help, read } of figures) {
    make.read('gauge', `run_${name}`, help, labels, () =>
      runs().flatMap(({ reward, run, monitor }) => {
        const value = read(monitor.recent)
        return value === null ? [] : [{ values: [reward, run], value }]
      }),
    )
  }
  make.read('gauge', 'run_rows', 'Rows that the figures of the run speak of.', labels, () =>
    runs().map(({ reward, run, monitor }) => ({ values: [reward, run], value: monitor.recent.rows })),
  )
  make.read('gauge', 'run_invalid_rows', 'Rows without a reward among them.', [...labels, 'kind'], () =>
    runs().flatMap(({ reward, run, monitor }) =>
      [...monitor.recent.invalid].map(([kind, value]) => ({ values: [reward, run, kind], value })),
    ),
  )
  make.read(
    'gauge',
    'run_reward_without_accuracy',
    "1: the reward rises while the rule's accuracy does not.",
    labels,
    () =>
      runs().map(({ reward, run, monitor }) => ({
        values: [reward, run],
        value: Number(monitor.trends.isSuspect),
      })),
  )
  make.read(
    'counter',
    'run_alarms_total',
    'Alarms: a mean left its history (drift), reward without accuracy.',
    [...labels, 'figure', 'step'],
    () =>
      // Series begin at 0, since an increase from nothing to 1 is none to Prometheus.
      runs().flatMap(({ reward, run, monitor }) =>
        [
          ['drift', null] as const,
          ['reward_without_accuracy', null] as const,
          ...[...monitor.recent.terms.keys()].map((step) => ['drift', step] as const),
        ].map(([figure, step]) => ({
          values: [reward, run, figure, step ?? ''],
          value: monitor.alarmCount(figure, step),
        })),
      ),
  )
}
