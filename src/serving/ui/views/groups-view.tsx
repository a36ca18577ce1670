import type { ShownRun } from '../../http/inspector/messages.ts'
import type { RowSummary } from '../../telemetry/live/shown-row.ts'
import { Histogram, SparkLine, Strip } from '../charts.tsx'
import { count, counted, figure, fixed, percent } from '../format.ts'
import { boundsOf, nameOf, shownFigure, wordsOf } from '../live/alerts.ts'
import { type LiveState, useLive } from '../live/store.ts'
import { TableHead } from '../parts/table.tsx'
import { Text, visibleText } from '../parts/text.tsx'
import { addressOf, goTo } from '../route.ts'

/** Whether there is still something to learn: variance and saturation within groups. */
export function GroupsView({ chosen }: { readonly chosen: string }) {
  const live = useLive()
  const runs = [...(live.status?.runs ?? [])].sort((a, b) => b.rows - a.rows)
  const run = runs.find((one) => nameOf(one) === chosen) ?? runs[0]
  return (
    <>
      <div class="view-head">
        <h1>Groups</h1>
        {runs.length > 1 && run && (
          <label>
            <span class="hidden">Run</span>
            <select value={nameOf(run)} onChange={(event) => goTo('groups', event.currentTarget.value)}>
              {runs.map((one) => (
                <option value={nameOf(one)}>{visibleText(nameOf(one))}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      {run ? (
        <>
          <Figures run={run} />
          <Spread run={run} range={live.rewards.get(run.reward)?.rewards.range ?? [0, 1]} />
          <RecentGroups live={live} reward={run.reward} run={run.run} />
        </>
      ) : (
        <p class="empty">
          No group has been scored yet. Send several answers to one prompt in a request, or give them the same{' '}
          <code>group_id</code>: the page then shows how much their rewards differ.
        </p>
      )}
    </>
  )
}

const tiles = [
  'saturated_groups_ratio',
  'group_variance',
  'group_entropy_bits',
  'length_correlation',
  'duplicate_answers_ratio',
]

function Figures({ run }: { readonly run: ShownRun }) {
  return (
    <dl class="tiles">
      <div class="panel tile">
        <dt>Groups</dt>
        <dd>{count(run.groups)}</dd>
        <dd class="aside muted">
          in {counted(run.rows, 'row')}
          {run.training_step !== null && ` up to training step ${run.training_step}`}
        </dd>
        <dd class="aside muted">All figures cover the last training steps.</dd>
      </div>
      {tiles.map((name) => {
        const found = run.figures[name]
        if (!found) return null
        const { value, standing, low, high, help } = found
        const isOut = standing === 'low' || standing === 'high'
        return (
          <div class={isOut ? 'panel tile out' : 'panel tile'}>
            <dt>{wordsOf(name)}</dt>
            <dd>{shownFigure(name, value)}</dd>
            <dd class="aside">
              <span class={`state ${standing}`}>
                {standing === 'unknown' ? 'too few rows' : isOut ? 'out of bounds' : 'good'}
              </span>{' '}
              <span class="muted">{boundsOf(name, low, high)}</span>
            </dd>
            <dd class="aside muted">{help}</dd>
          </div>
        )
      })}
    </dl>
  )
}

function Spread({ run, range }: { readonly run: ShownRun; readonly range: readonly [number, number] }) {
  const { steps, group_means: means, group_variances: variances } = run
  const last = steps.at(-1)?.step
  const inRange = (share: number | null) => (share === null ? null : range[0] + share * (range[1] - range[0]))
  const lines: [string, (number | null)[], readonly [number, number], (value: number | null) => string][] = [
    ['Mean reward', steps.map(({ reward }) => inRange(reward)), range, figure],
    ['Saturated', steps.map(({ saturated }) => saturated), [0, 1], percent],
    ['Variance', steps.map(({ variance }) => variance), [0, 0.25], figure],
  ]
  return (
    <div class="charts">
      <figure class="panel chart">
        <figcaption>
          Groups by mean reward <Most of={means} />
        </figcaption>
        <Histogram bins={means} isTall label={`Groups by mean reward, from 0 to 1: ${means.join(', ')}`} />
        <Ends from={`${figure(range[0])}: lowest reward`} to={`${figure(range[1])}: highest`} />
      </figure>
      <figure class="panel chart">
        <figcaption>
          Groups by variance of the reward <Most of={variances} />
        </figcaption>
        <Histogram
          bins={variances}
          isTall
          label={`Groups by variance, from 0 to 0.25: ${variances.join(', ')}`}
        />
        <Ends from="0: nothing to learn" to="0.25: half lowest, half highest" />
      </figure>
      <figure class="panel chart">
        <figcaption>Last training steps</figcaption>
        {lines.map(([name, values, range, write]) => (
          <div class="small-line">
            <span>{name}</span>
            <SparkLine values={values} range={range} label={`${name} by training step`} />
            <span class="number">{write(values.at(-1) ?? null)}</span>
          </div>
        ))}
        <Ends from={`step ${steps[0]?.step ?? '–'}`} to={`step ${last ?? '–'}`} />
      </figure>
    </div>
  )
}

/** The height of a histogram. */
const Most = ({ of }: { readonly of: readonly number[] }) => (
  <span class="muted aside">highest bar: {counted(Math.max(0, ...of), 'group')}</span>
)

const Ends = ({ from, to }: { readonly from: string; readonly to: string }) => (
  <div class="ends muted">
    <span>{from}</span>
    <span>{to}</span>
  </div>
)

interface Group {
  readonly id: string
  readonly values: readonly number[]
  readonly size: number
  readonly first: RowSummary
}

const maxGroups = 40

function RecentGroups(props: { readonly live: LiveState; readonly reward: string; readonly run: string }) {
  const { live, reward, run } = props
  // Further runs count as 'other'.
  const isOwn = (row: RowSummary) => row.reward === reward && (row.run === run || run === 'other')
  const groups = groupsOf(live.rows.filter(isOwn)).slice(0, maxGroups)
  const range = live.rewards.get(reward)?.rewards.range ?? [0, 1]
  // Scaled like the figures above: the width of the reward's range is 1.
  const width = range[1] > range[0] ? range[1] - range[0] : 1
  if (groups.length === 0)
    return (
      <p class="muted idle">No recent sample of this reward and run belongs to a group of several answers.</p>
    )
  return (
    <div class="panel scroll">
      <table>
        <caption>Recent groups of {reward}</caption>
        <TableHead
          columns={[
            'Group',
            ['Answers', 'number narrow-hides'],
            ['Mean', 'number'],
            ['Variance, of at most 0.25', 'number narrow-hides'],
            `Rewards, ${figure(range[0])} to ${figure(range[1])}`,
          ]}
        />
        <tbody>
          {groups.map(({ id, values, size, first }) => {
            const mean =
              values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
            const variance =
              mean === null
                ? null
                : values.reduce((sum, v) => sum + ((v - mean) / width) ** 2, 0) / values.length
            const isFlat = values.length > 1 && variance !== null && variance < 1e-18
            return (
              <tr key={id}>
                <th scope="row" class="sample-name group-name">
                  <a
                    href={addressOf('samples', first.id)}
                    aria-label={`First sample of group ${visibleText(id)}`}
                  >
                    <Text of={id} />
                  </a>
                  {isFlat && <span class="chip flag">saturated</span>}
                  {values.length < size && <span class="chip failed">{size - values.length} invalid</span>}
                </th>
                <td class="number narrow-hides">{size}</td>
                <td class="number strong">{fixed(mean)}</td>
                <td class="number narrow-hides">{fixed(variance)}</td>
                <td>
                  <Strip values={values} range={range} label={`Rewards: ${values.map(figure).join(', ')}`} />
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function groupsOf(rows: readonly RowSummary[]): readonly Group[] {
  const groups = new Map<string, RowSummary[]>()
  for (const row of rows) {
    if (row.group === null) continue
    const key = `${row.run}\n${row.training_step}\n${row.group}`
    const known = groups.get(key)
    if (known) known.push(row)
    else groups.set(key, [row])
  }
  return [...groups.values()]
    .filter((members) => members.length > 1)
    .map((members) => ({
      id: members[0]?.group ?? '',
      size: members.length,
      values: members.flatMap(({ value }) => (value === null ? [] : [value])),
      first: members[0] as RowSummary,
    }))
}
