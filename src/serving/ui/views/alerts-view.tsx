import type { ShownRun } from '../../http/inspector/messages.ts'
import { bounds, counted, fixed } from '../format.ts'
import { alertsOf, nameOf, wordsOf } from '../live/alerts.ts'
import { useLive } from '../live/store.ts'
import { Scroll, TableHead } from '../parts/table.tsx'
import { Text } from '../parts/text.tsx'

/** What needs attention, and every figure of the monitors. */
export function AlertsView() {
  const { status } = useLive()
  const alerts = status ? alertsOf(status) : []
  const runs = [...(status?.runs ?? [])].sort((a, b) => b.rows - a.rows)
  return (
    <>
      <div class="view-head">
        <h1>Alerts</h1>
        <span class="muted">See docs/monitoring.md for what to do about each alert</span>
      </div>
      {alerts.length === 0 ? (
        <p class="panel all-well">No alerts.</p>
      ) : (
        <ul class="alerts">
          {alerts.map(({ level, title, detail, subject }) => (
            <li class={`panel alert ${level}`}>
              <div>
                <h2>{title}</h2>
                <p>
                  <Text of={detail} />
                </p>
              </div>
              <span class="chip">
                <Text of={subject} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {runs.map((run) => (
        <Monitors run={run} />
      ))}
    </>
  )
}

function Monitors({ run }: { readonly run: ShownRun }) {
  const { steps, reading } = run.trends
  return (
    <section class="panel" aria-label={`Monitors of ${nameOf(run)}`}>
      <div class="panel-head">
        <h2>
          <Text of={nameOf(run)} />
        </h2>
        <p class="muted">
          {counted(run.rows, 'row')}, {counted(run.groups, 'group')}
          {run.training_step !== null && `, training step ${run.training_step}`}
          {reading && `; correlation of reward and accuracy over ${steps} steps: ${reading}`}
        </p>
      </div>
      <Scroll label={`Figures of ${nameOf(run)}`}>
        <table>
          <caption class="hidden">Figures of {nameOf(run)}</caption>
          <TableHead
            columns={[
              'Figure',
              ['Value', 'number'],
              ['Bounds', 'number'],
              'Status',
              ['Meaning', 'wide-only'],
            ]}
          />
          <tbody>
            {Object.entries(run.figures).map(([name, { value, standing, low, high, help }]) => (
              <tr>
                <th scope="row">{wordsOf(name)}</th>
                <td class="number strong">{fixed(value)}</td>
                <td class="number muted">{bounds(low, high)}</td>
                <td>
                  <span class={`state ${standing}`}>
                    {standing === 'unknown' ? 'too few rows' : standing}
                  </span>
                </td>
                <td class="muted wide-only">{help}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  )
}
