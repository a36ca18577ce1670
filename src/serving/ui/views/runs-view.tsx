import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { PoolStatus, QueueOverview, ShownRun, ShownStalls } from '../../http/inspector/messages.ts'
import { bytes, count, counted, duration, fixed, percent } from '../format.ts'
import { askJson, Refused } from '../live/session.ts'
import { useLive } from '../live/store.ts'
import { causes, Stalls } from '../parts/stalls.tsx'
import { Scroll, TableHead } from '../parts/table.tsx'
import { Text } from '../parts/text.tsx'

type QueuedRun = QueueOverview['runs'][number]

/** Training runs: what the queue holds of each and why it waits, and what the training steps waited for. */
export function RunsView() {
  const { status, served } = useLive()
  const queue = useQueue(served?.has_queue ?? false)
  const overview = queue.state === 'on' ? queue.overview : null
  const queued = overview?.runs ?? []
  const stalls = status?.stalls.filter(({ steps }) => steps.length > 0) ?? []
  const known = new Set(queued.map(({ run }) => run))
  return (
    <>
      <div class="view-head">
        <h1>Runs</h1>
        {overview && (
          <span class="muted">
            {counted(overview.unfinished, 'rollout')} in the queue, {count(overview.running)} being scored,{' '}
            {bytes(overview.bytes)} on disk
          </span>
        )}
      </div>
      {overview && <Room overview={overview} />}
      {queue.state === 'refused' && <p class="note">The queue is not shown: {queue.trouble}.</p>}
      {queue.state === 'off' && (
        <p class="note">
          The queue is off. With <code>{'queue: { folder: ../queue }'}</code> in gateway.yaml, trainers can
          submit rollouts to <code>/v1/runs</code> and read their rewards later; this page then shows what
          each run waits for.
        </p>
      )}
      {queue.state !== 'unknown' && queued.length + stalls.length === 0 && (
        <p class="empty">
          No run yet. Send <code>run</code> and <code>training_step</code> with each request: a step appears
          here 30 seconds after its last reward.
        </p>
      )}
      {queued.map((run) => (
        <Run
          name={run.run}
          queued={run}
          stalls={stalls.find((one) => one.run === run.run)}
          status={status}
          key={run.run}
        />
      ))}
      {overview && overview.total_runs > queued.length && (
        <p class="muted idle">{counted(overview.total_runs - queued.length, 'more run')} in the queue.</p>
      )}
      {stalls
        .filter(({ run }) => !known.has(run))
        .map((one) => (
          <Run name={one.run} queued={null} stalls={one} status={status} key={one.run} />
        ))}
    </>
  )
}

/** What stops submissions, and how much more would be accepted. */
function Room({ overview }: { readonly overview: QueueOverview }) {
  const { rollouts = 0, bytes: room = 0 } = overview.credits
  if (overview.disk_failing)
    return (
      <p class="panel alert bad">
        <span>
          <b>The disk fails.</b> Nothing is accepted, and finals wait. Look at the folder of the queue and at
          the log.
        </span>
      </p>
    )
  if (rollouts > 0 && room > 0) return null
  return (
    <p class="panel alert">
      <span>
        <b>The queue is full.</b> Submissions get 429 until finals come. More judges make it faster;{' '}
        <code>queue.max_rollouts</code> and <code>queue.max_bytes</code> make it larger.
      </span>
    </p>
  )
}

function Run(props: {
  readonly name: string
  readonly queued: QueuedRun | null
  readonly stalls: ShownStalls | undefined
  readonly status: PoolStatus | null
}) {
  const { name, queued, stalls, status } = props
  const monitored = status?.runs.filter(({ run }) => run === name) ?? []
  return (
    <section class="panel" aria-label={name === '' ? 'Requests without a run' : `Run ${name}`}>
      <div class="panel-head">
        <h2>{name === '' ? 'Requests without a run' : <Text of={name} />}</h2>
        <p class="muted">
          {queued === null && 'Not in the queue'}
          {monitored.length > 0 && (
            <>
              {queued === null && ': requests for '}
              <Text of={[...new Set(monitored.map(({ reward }) => reward))].join(', ')} />
            </>
          )}
        </p>
      </div>
      {queued && <Queued run={queued} monitored={monitored} />}
      {stalls && <Stalls stalls={stalls} />}
    </section>
  )
}

function Queued({ run, monitored }: { readonly run: QueuedRun; readonly monitored: readonly ShownRun[] }) {
  const rows = monitored.reduce((sum, one) => sum + one.rows, 0)
  const invalid = monitored.reduce(
    (sum, one) => sum + Object.values(one.invalid).reduce((all, times) => all + times, 0),
    0,
  )
  const isStuck = run.unfinished > 0 && run.finals_per_s === 0
  return (
    <>
      <dl class="run-figures">
        <Item name="Backlog" note={`${count(run.running)} being scored`}>
          {count(run.unfinished)}
        </Item>
        <Item name="Oldest" note={run.deadline_s === null ? '' : deadlineText(run.deadline_s)}>
          {run.oldest_s === null ? '–' : duration(run.oldest_s * 1000)}
        </Item>
        <Item name="Accepted">{fixed(run.accepted_per_s, 1)} /s</Item>
        <Item name="Finals" note={`${count(run.finals)} in all`} isSlow={isStuck}>
          {fixed(run.finals_per_s, 1)} /s
        </Item>
        <Item name="Without a reward" note={rows === 0 ? '' : 'of the last training steps'}>
          {rows === 0 ? '–' : percent(invalid / rows)}
        </Item>
        <Item
          name="On disk"
          note={run.damaged === 0 ? '' : `${counted(run.damaged, 'place')} damaged`}
          isBad={run.damaged > 0}
        >
          {bytes(run.bytes)}
        </Item>
      </dl>
      {run.waits.length > 0 && (
        <ul class="waits">
          <li class="label">Waiting</li>
          {run.waits.slice(0, mostWaits).map(({ cause, name, rollouts }) => (
            <li>
              <b>{count(rollouts)}</b> for {causes[cause] ?? cause}
              {name !== '' && (
                <>
                  {': '}
                  <Text of={name} />
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {run.groups.length > 0 && <Groups of={run.groups} />}
    </>
  )
}

/** Causes of waiting that a run shows. */
const mostWaits = 8

const deadlineText = (seconds: number): string =>
  seconds <= 0 ? 'its deadline is over' : `first deadline in ${duration(seconds * 1000)}`

function Item(props: {
  readonly name: string
  readonly note?: string
  readonly isBad?: boolean
  readonly isSlow?: boolean
  readonly children: ComponentChildren
}) {
  const { name, note = '', isBad = false, isSlow = false, children } = props
  return (
    <div>
      <dt>{name}</dt>
      <dd class={isBad ? 'bad-text' : isSlow ? 'warn-text' : ''}>{children}</dd>
      {note !== '' && <dd class="aside muted">{note}</dd>}
    </div>
  )
}

function Groups({ of }: { readonly of: QueuedRun['groups'] }) {
  return (
    <details class="inner">
      <summary>Groups that are not complete, the first to end on top</summary>
      <Scroll label="Groups that are not complete">
        <table>
          <caption class="hidden">Groups that are not complete</caption>
          <TableHead
            columns={['Group', ['Answers here', 'number'], ['Of', 'number'], ['Ends in', 'number']]}
          />
          <tbody>
            {of.map(({ group, here, size, deadline_s: left }) => (
              <tr>
                <th scope="row">
                  <Text of={group} />
                </th>
                <td class="number">{here}</td>
                <td class="number">{size}</td>
                <td class="number">{duration(Math.max(0, left * 1000))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  )
}

const everyMs = 2000

/** The queue of submitted rollouts; `off`: the gateway has none. */
type KnownQueue =
  | { readonly state: 'unknown' | 'off' }
  | { readonly state: 'refused'; readonly trouble: string }
  | { readonly state: 'on'; readonly overview: QueueOverview }

/** Asks for the queue every two seconds while the component is shown and the tab is visible. */
function useQueue(hasQueue: boolean): KnownQueue {
  const [queue, tell] = useState<KnownQueue>({ state: 'unknown' })
  useEffect(() => {
    if (!hasQueue) return
    const ending = new AbortController()
    const { signal } = ending
    const look = async (): Promise<void> => {
      for (;;) {
        if (!document.hidden)
          await askJson<QueueOverview>('../v1/queue', { signal }).then(
            (overview) => tell({ state: 'on', overview }),
            (error: unknown) => {
              if (!(error instanceof Refused)) return
              tell(error.status === 404 ? { state: 'off' } : { state: 'refused', trouble: error.message })
            },
          )
        await new Promise((resolve) => setTimeout(resolve, everyMs))
        if (signal.aborted) return
      }
    }
    void look()
    return () => ending.abort()
  }, [hasQueue])
  return hasQueue ? queue : { state: 'off' }
}
