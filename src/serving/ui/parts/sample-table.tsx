import type { RowSummary } from '../../telemetry/live/shown-row.ts'
import { clockTime, counted, duration, fixed } from '../format.ts'
import type { LiveState } from '../live/store.ts'
import { addressOf, goTo } from '../route.ts'
import { TableHead } from './table.tsx'
import { Text, visibleText } from './text.tsx'

/** Recent samples; `chosen`: the one whose detail is open. */
export function SampleTable(props: {
  readonly rows: readonly RowSummary[]
  readonly chosen: string
  readonly served: LiveState['served']
}) {
  const { rows, chosen, served } = props
  // Beside an open detail a row has three lines: there is no room for columns.
  const isTight = chosen !== ''
  const names = new Map(served?.rewards.map(({ name, steps }) => [name, steps.map((step) => step.name)]))
  return (
    <table class="sample-table">
      <caption class="hidden">Recent samples, newest first</caption>
      <TableHead
        columns={[
          'Time',
          ['Reward', 'number'],
          'Sample',
          ...(isTight
            ? []
            : ([
                ['Scores of its terms', 'narrow-hides'],
                ['Duration', 'number narrow-hides'],
              ] as const)),
        ]}
      />
      <tbody>
        {rows.map((row) => (
          <tr
            key={row.id}
            class={row.id === chosen ? 'chosen' : ''}
            onClick={({ target }) => opens(target) && goTo('samples', row.id)}
          >
            <td class="time">{clockTime(row.at)}</td>
            <td class="number">
              {row.failure ? <span class="chip failed">invalid</span> : <b>{fixed(row.value)}</b>}
            </td>
            <th scope="row" class="sample-name">
              <a
                href={addressOf('samples', row.id)}
                aria-label={`Sample ${visibleText(row.name)} of ${row.reward}`}
              >
                <Text of={row.name} />
              </a>
              <span class="chip">{row.reward}</span>
              {row.failure && <span class="chip failed">{row.failure}</span>}
              {row.flags.slice(0, 3).map((flag) => (
                <span class="chip flag">
                  <Text of={flag} />
                </span>
              ))}
              {row.turns !== null && <span class="chip">{counted(row.turns, 'turn')}</span>}
              {isTight && <Terms of={row} names={names.get(row.reward)} />}
              {row.response === null && row.group !== null && (
                <span class="snippet muted">
                  group <Text of={row.group} />
                </span>
              )}
              {row.response !== null && (
                <span class="snippet muted">
                  <Text of={row.response} />
                </span>
              )}
            </th>
            {!isTight && (
              <>
                <td class="narrow-hides">
                  <Terms of={row} names={names.get(row.reward)} />
                </td>
                <td class="number narrow-hides">{duration(row.ms)}</td>
              </>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Whether a click opens the row: not where it follows a link, or ends a selection of text. */
const opens = (target: EventTarget | null): boolean =>
  !(target as Element).closest('a') && getSelection()?.isCollapsed !== false

/** The score of each term under its name. */
function Terms({
  of: { terms },
  names = [],
}: {
  readonly of: RowSummary
  readonly names?: readonly string[] | undefined
}) {
  return (
    <span class="scores">
      {terms.map((term, at) => (
        <span class={typeof term === 'number' ? 'score' : `score ${term}`}>
          {/* Another version of the reward may have had other terms. */}
          {names.length === terms.length && <span class="score-name">{names[at]}</span>}
          {typeof term === 'number' ? fixed(term, 2) : term}
        </span>
      ))}
    </span>
  )
}
