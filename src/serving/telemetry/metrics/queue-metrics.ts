/** Metrics of rollouts that are accepted on disk. */
import { type Instruments, secondBuckets } from './instruments.ts'

/** The queue at the time of a scrape. */
export interface QueueFigures {
  readonly runs: readonly {
    readonly run: string
    readonly unfinished: number
    /** Since the oldest of them was accepted; 0 if there is none. */
    readonly oldestSeconds: number
    readonly finals: number
    readonly kept: number
    readonly damaged: number
  }[]
  readonly running: number
  readonly bytes: number
  readonly isDiskFailing: boolean
  readonly droppedFinals: number
  readonly reusedAnswers: number
  readonly retries: number
}

/** Events of the queue that are counted. */
export interface QueueMetrics {
  committed(bytes: number, ms: number): void
}

/** `figures`: null if there is no queue; then there are no series. */
export function queueMetrics(make: Instruments, figures: () => QueueFigures | null): QueueMetrics {
  const ofRun = (
    type: 'gauge' | 'counter',
    name: string,
    help: string,
    read: (run: QueueFigures['runs'][number]) => number,
  ) =>
    make.read(type, `queue_${name}`, help, ['run'], () =>
      (figures()?.runs ?? []).map((run) => ({ values: [run.run], value: read(run) })),
    )
  const ofAll = (
    type: 'gauge' | 'counter',
    name: string,
    help: string,
    read: (figures: QueueFigures) => number,
  ) =>
    make.read(type, `queue_${name}`, help, [], () => {
      const now = figures()
      return now ? [{ values: [], value: read(now) }] : []
    })
  ofRun('gauge', 'unfinished', 'Accepted rollouts without a final.', ({ unfinished }) => unfinished)
  ofRun('gauge', 'oldest_seconds', 'Age of the oldest of them.', ({ oldestSeconds }) => oldestSeconds)
  ofRun('counter', 'finals_total', 'Finals of the run, those before a restart too.', ({ finals }) => finals)
  ofRun('gauge', 'kept_finals', 'Finals that can be read.', ({ kept }) => kept)
  ofRun('gauge', 'damaged_places', 'Places of the log that could not be read.', (run) => run.damaged)
  ofAll('gauge', 'running', 'Submitted rollouts that are being scored.', ({ running }) => running)
  ofAll('gauge', 'bytes', 'Bytes of the queue on disk.', ({ bytes }) => bytes)
  ofAll('gauge', 'disk_failing', '1 if the last write failed: nothing is accepted.', (all) =>
    Number(all.isDiskFailing),
  )
  ofAll(
    'counter',
    'dropped_finals_total',
    'Finals that were removed before queue.keep_s, because of queue.keep_finals or queue.keep_bytes.',
    (all) => all.droppedFinals,
  )
  ofAll(
    'counter',
    'reused_answers_total',
    "Judges' answers that were on disk and not asked for again.",
    (all) => all.reusedAnswers,
  )
  ofAll('counter', 'retries_total', 'Tries of rollouts that found servers away.', ({ retries }) => retries)
  const commits = make.histogram(
    'queue_commit_duration_seconds',
    'Time of writing records and syncing the disk.',
    [],
    secondBuckets,
  )
  const written = make.counter('queue_written_bytes_total', 'Bytes written to the queue.', [])
  return {
    committed(bytes, ms) {
      commits(ms / 1000)
      written(bytes)
    },
  }
}
