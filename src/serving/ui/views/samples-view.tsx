import { useState } from 'preact/hooks'
import type { RowSummary } from '../../telemetry/live/row-summary.ts'
import { clockTime, duration, fixed } from '../format.ts'
import { useLive } from '../live/store.ts'
import { TableHead } from '../parts/table-head.tsx'
import { Text } from '../parts/text.tsx'
import { addressOf } from '../route.ts'
import { visibleText } from '../visible-text.ts'
import { SampleDetail } from './sample-detail.tsx'

const shownAtOnce = 100

interface Filter {
  readonly words: string
  readonly reward: string
  readonly kind: 'all' | 'valid' | 'invalid' | 'flagged'
}

/** Recent samples, and one of them in full. */
export function SamplesView({ chosen }: { readonly chosen: string }) {
  const { rows, served } = useLive()
  const [filter, change] = useState<Filter>({ words: '', reward: '', kind: 'all' })
  const [held, hold] = useState<readonly RowSummary[] | null>(null)
  const [most, showMore] = useState(shownAtOnce)
  const set = (part: Partial<Filter>) => {
    change({ ...filter, ...part })
    showMore(shownAtOnce)
  }
  const all = held ?? rows
  const found = all.filter((row) => fits(row, filter))
  const rewards = [...new Set(rows.map(({ reward }) => reward))].sort()
  return (
    <>
      <div class="view-head">
        <h1>Samples</h1>
        <span class="muted" role="status">
          {found.length} of {all.length} recent
        </span>
      </div>
      <search class="filters">
        <label class="grow">
          <span class="hidden">Filter</span>
          <input
            type="search"
            placeholder="Filter: words, -without, group:7, flag:refused, kind:rule_error"
            value={filter.words}
            onInput={(event) => set({ words: event.currentTarget.value })}
          />
        </label>
        <label>
          <span class="hidden">Reward</span>
          <select value={filter.reward} onChange={(event) => set({ reward: event.currentTarget.value })}>
            <option value="">All rewards</option>
            {rewards.map((name) => (
              <option value={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          <span class="hidden">Outcome</span>
          <select
            value={filter.kind}
            onChange={(event) => set({ kind: event.currentTarget.value as Filter['kind'] })}
          >
            <option value="all">All outcomes</option>
            <option value="valid">With a reward</option>
            <option value="invalid">Without a reward</option>
            <option value="flagged">Flagged</option>
          </select>
        </label>
        <button type="button" aria-pressed={held !== null} onClick={() => hold(held ? null : rows)}>
          {held ? 'Go on' : 'Pause'}
        </button>
      </search>
      {served?.text !== 'full' && (
        <p class="note">
          Texts are withheld by <code>record.text: {served?.text}</code>; <code>inspector.text</code> in
          gateway.yaml says what this page shows.
        </p>
      )}
      <div class={chosen === '' ? 'samples' : 'samples with-detail'}>
        <div class="panel scroll rows">
          {found.length === 0 ? (
            <p class="empty">
              {all.length === 0 ? 'Nothing has been scored yet.' : 'No sample fits the filter.'}
            </p>
          ) : (
            <SampleTable rows={found.slice(0, most)} chosen={chosen} />
          )}
          {found.length > most && (
            <button type="button" class="more" onClick={() => showMore(most + shownAtOnce)}>
              Show more
            </button>
          )}
        </div>
        {chosen !== '' && <SampleDetail id={chosen} key={chosen} />}
      </div>
    </>
  )
}

function SampleTable({ rows, chosen }: { readonly rows: readonly RowSummary[]; readonly chosen: string }) {
  return (
    <table class="sample-table">
      <caption class="hidden">Recent samples, the newest first</caption>
      <TableHead
        columns={[
          'Time',
          ['Reward', 'number'],
          'Sample',
          ['Terms', 'detail-hides'],
          ['Took', 'number detail-hides'],
        ]}
      />
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} class={row.id === chosen ? 'chosen' : ''}>
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
              {row.response !== null && (
                <span class="snippet muted">
                  <Text of={row.response} />
                </span>
              )}
            </th>
            <td class="detail-hides">
              <span class="scores">
                {row.terms.map((term) =>
                  typeof term === 'number' ? (
                    <span class="score">{fixed(term, 2)}</span>
                  ) : (
                    <span class={`score ${term}`}>{term}</span>
                  ),
                )}
              </span>
            </td>
            <td class="number detail-hides">{duration(row.ms)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Every word must be found; `-word` must not; `group:`, `run:`, `flag:`, `kind:`, `source:` look in one place. */
function fits(row: RowSummary, { words, reward, kind }: Filter): boolean {
  if (reward !== '' && row.reward !== reward) return false
  if (kind === 'valid' && row.failure !== null) return false
  if (kind === 'invalid' && row.failure === null) return false
  if (kind === 'flagged' && row.flags.length === 0) return false
  const terms = words.toLowerCase().split(/\s+/).filter(Boolean)
  if (terms.length === 0) return true
  const places: Readonly<Record<string, string>> = {
    group: row.group ?? '',
    run: row.run,
    flag: row.flags.join(' '),
    kind: row.failure ?? '',
    source: row.data_source ?? '',
  }
  const everything = [row.id, row.name, row.reward, row.prompt, row.response, ...Object.values(places)].join(
    '\n',
  )
  return terms.every((term) => {
    const isWithout = term.length > 1 && term.startsWith('-')
    const word = isWithout ? term.slice(1) : term
    const [, place = '', rest = ''] = /^(\w+):(.+)$/.exec(word) ?? []
    const own = Object.hasOwn(places, place) ? places[place] : undefined
    const isFound =
      own === undefined ? everything.toLowerCase().includes(word) : own.toLowerCase().includes(rest)
    return isFound !== isWithout
  })
}
