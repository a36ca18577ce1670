import type { ShownRun } from '../../http/inspector/messages.ts'
import { clockTime, counted } from '../format.ts'
import { alertsOf, boundsOf, figureAdvice, keyOf, nameOf, shownFigure, wordsOf } from '../live/alerts.ts'
import { useLive } from '../live/store.ts'
import { Scroll, TableHead } from '../parts/table.tsx'
import { Text, visibleText } from '../parts/text.tsx'
import { addressOf, titles } from '../route.ts'

/** What needs attention, what to do about it, and every figure of the monitors. */
export function AlertsView() {
  const { status, served, seen } = useLive()
  const alerts = status ? alertsOf(status, served) : []
  const runs = [...(status?.runs ?? [])].sort((a, b) => b.rows - a.rows)
  return (
    <>
      <div class="view-head">
        <h1>Alerts</h1>
        <span class="muted">{counted(alerts.length, 'alert')}</span>
      </div>
      {alerts.length === 0 ? (
        <p class="panel all-well">
          No alerts. Models that are away, judges that judge wrongly and figures out of bounds appear here.
        </p>
      ) : (
        <ul class="alerts">
          {alerts.map((alert) => {
            const { level, title, detail, todo, subject, view, chosen } = alert
            const since = seen.get(keyOf(alert))
            return (
              <li class={`panel alert ${level}`} key={keyOf(alert)}>
                <div>
                  <h2>{title}</h2>
                  <p>
                    <Text of={detail} />
                  </p>
                  <p class="todo">
                    <b>What to do:</b> {todo} <a href={addressOf(view, chosen)}>Open {titles[view]}</a>
                  </p>
                </div>
                <div class="about">
                  <span class="chip">
                    <Text of={subject} />
                  </span>
                  {since && (
                    <span class="muted">
                      {since.isOlder ? 'since before ' : 'since '}
                      {clockTime(since.at)}
                    </span>
                  )}
                </div>
              </li>
            )
          })}
        </ul>
      )}
      <h2 class="part">Figures of the monitors</h2>
      {runs.length === 0 && (
        <p class="empty">No figures yet. They cover the last training steps of each reward and run.</p>
      )}
      {runs.map((run) => (
        <Monitors run={run} isAlone={runs.length === 1} key={nameOf(run)} />
      ))}
    </>
  )
}

const readings: Readonly<Record<string, string>> = {
  'strong-positive': 'rise and fall together',
  'weak-positive': 'loosely rise and fall together',
  none: 'are unrelated',
  'weak-negative': 'loosely move in opposite directions',
  'strong-negative': 'move in opposite directions',
}

function Monitors({ run, isAlone }: { readonly run: ShownRun; readonly isAlone: boolean }) {
  const { steps, reading } = run.trends
  const all = Object.values(run.figures)
  const out = all.filter(({ standing }) => standing === 'low' || standing === 'high').length
  const unknown = all.filter(({ standing }) => standing === 'unknown').length
  const name = visibleText(nameOf(run))
  return (
    <details class="panel fold" open={isAlone}>
      <summary>
        <h3>
          <Text of={nameOf(run)} />
        </h3>
        {out > 0 && <span class="state high">{out} out of bounds</span>}
        {all.length > out + unknown && <span class="state ok">{all.length - out - unknown} in bounds</span>}
        {unknown > 0 && <span class="state">{unknown} with too few rows</span>}
        <span class="muted">
          {counted(run.rows, 'row')}, {counted(run.groups, 'group')}
          {run.training_step !== null && `, training step ${run.training_step}`}
        </span>
      </summary>
      {reading && (
        <p class="muted">
          Over {counted(steps, 'training step')}, the reward and the accuracy of the first rule{' '}
          {readings[reading] ?? reading}.
        </p>
      )}
      <Scroll label={`Figures of ${name}`}>
        <table>
          <caption class="hidden">Figures of {name}</caption>
          <TableHead
            columns={[
              'Figure',
              ['Value', 'number'],
              'Good',
              'Status',
              ['Meaning, and what to do if it is out of bounds', 'wide-only'],
            ]}
          />
          <tbody>
            {Object.entries(run.figures).map(([figure, { value, standing, low, high, help }]) => (
              <tr>
                <th scope="row">{wordsOf(figure)}</th>
                <td class="number strong">{shownFigure(figure, value)}</td>
                <td class="muted">{boundsOf(figure, low, high)}</td>
                <td>
                  <span class={`state ${standing}`}>
                    {standing === 'unknown' ? 'too few rows' : standing}
                  </span>
                </td>
                <td class="muted wide-only">
                  {help} {figureAdvice[figure]}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  )
}
