import { useEffect, useRef, useState } from 'preact/hooks'
import type { RowDetail, RowSummary } from '../../telemetry/live/shown-row.ts'
import { clockTime, counted, duration, figure } from '../format.ts'
import { askJson } from '../live/session.ts'
import { type LiveState, useLive } from '../live/store.ts'
import { Conversation, KeptImages } from '../parts/conversation.tsx'
import { SampleTable } from '../parts/sample-table.tsx'
import { Flags, Question, Steps } from '../parts/steps.tsx'
import { Kept, Text } from '../parts/text.tsx'
import { addressOf } from '../route.ts'
import { loadDraft } from './playground-view.tsx'

const shownAtOnce = 100

interface Filter {
  readonly words: string
  readonly reward: string
  readonly kind: 'all' | 'valid' | 'invalid' | 'flagged'
}

/** Recent samples, with one of them in full. */
export function SamplesView({ chosen }: { readonly chosen: string }) {
  const { rows, served } = useLive()
  const [filter, change] = useState<Filter>({ words: '', reward: '', kind: 'all' })
  const [held, hold] = useState<readonly RowSummary[] | null>(null)
  const [isPointedAt, point] = useState(false)
  const [isFocused, focus] = useState(false)
  // Rows that move under the pointer, or away from the keyboard's focus, cannot be hit.
  const still = useRef<readonly RowSummary[] | null>(null)
  still.current = isPointedAt || isFocused ? (still.current ?? rows) : null
  const [most, showMore] = useState(shownAtOnce)
  const set = (part: Partial<Filter>) => {
    change({ ...filter, ...part })
    showMore(shownAtOnce)
  }
  const all = held ?? still.current ?? rows
  const newer = all === rows ? 0 : rows.findIndex(({ id }) => id === all[0]?.id)
  const isFiltered = filter.words !== '' || filter.reward !== '' || filter.kind !== 'all'
  useReturnedFocus(chosen)
  const found = all.filter((row) => fits(row, filter))
  const rewards = [...new Set(rows.map(({ reward }) => reward))].sort()
  return (
    <>
      <div class="view-head">
        <h1>Samples</h1>
        <span class="muted" role={isFiltered ? 'status' : undefined}>
          {isFiltered && `${found.length} of `}
          {counted(all.length, 'recent sample')}
          {newer !== 0 && `, ${newer < 0 ? 'all' : newer} newer held back`}
        </span>
      </div>
      <search class="filters">
        <label class="grow">
          <span class="hidden">Filter</span>
          <input
            type="search"
            placeholder="Filter: words, -without, group:7, run:a, flag:refused, kind:rule_error"
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
        <button
          type="button"
          class="fixed"
          aria-pressed={held !== null}
          onClick={() => hold(held ? null : all)}
        >
          {held ? 'Resume' : 'Pause'}
        </button>
      </search>
      {served?.text !== 'full' && (
        <p class="note">
          Texts are withheld (<code>{served?.text}</code>). Set <code>inspector.text</code> in gateway.yaml to
          show more, up to what <code>record.text</code> keeps.
        </p>
      )}
      <div class={chosen === '' ? 'samples' : 'samples with-detail'}>
        <div
          class="panel scroll rows"
          onPointerEnter={({ pointerType }) => pointerType === 'mouse' && point(true)}
          onPointerLeave={() => point(false)}
          onFocusIn={({ target }) => (target as Element).matches(':focus-visible') && focus(true)}
          onFocusOut={() => focus(false)}
        >
          {found.length === 0 ? (
            <p class="empty">
              {all.length > 0 ? (
                'No sample matches the filter.'
              ) : (
                <>
                  Nothing has been scored yet. Send samples to <code>/v1/score</code>, or try the{' '}
                  <a href={addressOf('playground')}>playground</a>.
                </>
              )}
            </p>
          ) : (
            <SampleTable rows={found.slice(0, most)} chosen={chosen} served={served} />
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

/** Puts the focus back on a row's link when its detail was closed. */
function useReturnedFocus(chosen: string): void {
  const last = useRef('')
  useEffect(() => {
    if (chosen === '' && last.current !== '')
      document
        .querySelector<HTMLElement>(`a[href="${CSS.escape(addressOf('samples', last.current))}"]`)
        ?.focus()
    last.current = chosen
  }, [chosen])
}

/** Every word must occur, and `-word` must not. `group:`, `run:`, `flag:`, `kind:` and `source:` search one field. */
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

/** One sample, with an explanation of its reward. */
function SampleDetail({ id }: { readonly id: string }) {
  const [row, show] = useState<RowDetail | null>(null)
  const [trouble, say] = useState('')
  const panel = useRef<HTMLElement>(null)
  useEffect(() => panel.current?.focus(), [])
  useEffect(() => {
    const ending = new AbortController()
    askJson<RowDetail>(`api/rows/${encodeURIComponent(id)}`, { signal: ending.signal }).then(
      show,
      (error: Error) => {
        if (!ending.signal.aborted) say(error.message)
      },
    )
    return () => ending.abort()
  }, [id])
  return (
    <section class="panel detail" aria-label="Sample" ref={panel} tabIndex={-1}>
      <div class="panel-head spread">
        <h2>{row ? <Text of={shortName(row.sample.id)} /> : 'Sample'}</h2>
        <a class="close" href={addressOf('samples')} aria-label="Close">
          ×
        </a>
      </div>
      {trouble !== '' && <p class="error">{trouble}</p>}
      {!row && trouble === '' && <p class="muted">Loading…</p>}
      {row && (
        <KeptImages.Provider value={row.images}>
          <Whole row={row} />
        </KeptImages.Provider>
      )}
    </section>
  )
}

function Whole({ row }: { readonly row: RowDetail }) {
  const { served } = useLive()
  const { sample, config, failure } = row
  const { turns, turns_left_out: leftOut } = sample
  const isWhole =
    [sample.prompt, sample.response].every((text) => typeof text === 'string') &&
    leftOut === undefined &&
    (turns ?? []).every(({ content, left_out }) => typeof content === 'string' && left_out === undefined)
  return (
    <>
      <p class={row.valid ? 'outcome' : 'outcome bad-text'}>
        <b>{row.valid ? figure(row.reward) : failure?.kind}</b>
        <span class="muted">
          {config.reward} · {clockTime(Date.parse(row.time))} · {duration(row.ms)}
        </span>
      </p>
      {failure && (
        <p class="error">
          <Text of={failure.detail} />
          {row.substitute !== null &&
            ` Trainers that cannot skip invalid samples get ${figure(row.substitute)}.`}
        </p>
      )}
      <Facts row={row} />
      {row.flags.length > 0 && <Flags of={row.flags} />}
      <h3>Why</h3>
      <p class="muted">
        {config.formula === null ? (
          'On the right: the reward so far, combined with the weight of the step × its score.'
        ) : (
          <>
            Reward: <code>{config.formula}</code>
          </>
        )}
      </p>
      <Steps steps={row.terms} config={config} />
      {lacksQuestions(row, served) && (
        <p class="note">
          What its judges were asked is not here: it is kept only while a page is open. If rows are recorded,{' '}
          <code>reward-gateway explain {row.id}</code> shows it.
        </p>
      )}
      <h3>Prompt</h3>
      <Question of={sample.prompt} label="Prompt" />
      {turns && (
        <>
          <h3>Rollout</h3>
          <Conversation
            turns={turns}
            label="Rollout"
            leftOut={leftOut}
            segments={sample.segments}
            final={leftOut === undefined ? turns.findLastIndex(({ role }) => role === 'assistant') : -1}
          />
        </>
      )}
      {(!turns || leftOut !== undefined) && (
        <>
          <h3>Response</h3>
          <Kept of={sample.response} label="Response" />
        </>
      )}
      <h3>Ground truth</h3>
      <Kept of={sample.ground_truth} label="Ground truth" />
      {isWhole && (
        <p class="actions">
          <a class="button" href={addressOf('playground')} onClick={() => loadDraft(row)}>
            Open in playground
          </a>
        </p>
      )}
    </>
  )
}

/** Whether a judge of this sample was asked, and nothing is known of the question. */
function lacksQuestions({ terms, config }: RowDetail, served: LiveState['served']): boolean {
  const steps = served?.rewards.find(({ name }) => name === config.reward)?.steps ?? []
  return terms.some(
    ({ name, status, asks }) =>
      status === 'scored' &&
      asks.length === 0 &&
      steps.some((step) => step.name === name && step.models.length > 0),
  )
}

/** Characters of an id that stand above the reward. */
const longestName = 200

const shortName = (name: string): string =>
  name.length <= longestName
    ? name
    : `${name.slice(0, longestName)} […, ${counted(name.length, 'character')}]`

function Facts({ row }: { readonly row: RowDetail }) {
  const { status, tokens, policy_version: version, environment, counts } = row.sample
  const facts: [string, string | null][] = [
    ['Record', row.id],
    ['Group', row.sample.group],
    ['Data source', row.sample.data_source],
    ['Run', row.run || null],
    ['Training step', row.training_step === null ? null : String(row.training_step)],
    ['Version', row.config.version],
    ['Status', status ?? null],
    ['Rollout', counts ? rolloutText(counts) : null],
    [
      'Tokens',
      tokens ? `${tokens.prompt ?? '?'} of the prompt, ${tokens.response ?? '?'} of the response` : null,
    ],
    ['Policy', version ? [...new Set([version.first, version.last])].join(' to ') : null],
    [
      'Environment',
      environment
        ? Object.entries(environment)
            .map(([name, value]) => `${name} ${figure(value)}`)
            .join(', ')
        : null,
    ],
  ]
  return (
    <dl class="pairs facts">
      {facts.map(([name, value]) =>
        value === null ? null : (
          <div>
            <dt>{name}</dt>
            <dd>
              <Text of={shortName(value)} />
            </dd>
          </div>
        ),
      )}
    </dl>
  )
}

const rolloutText = (counts: NonNullable<RowDetail['sample']['counts']>): string => {
  const malformed = counts.malformed_calls > 0 ? `, ${counts.malformed_calls} malformed` : ''
  return `${counted(counts.turns, 'turn')}, ${counted(counts.tool_calls, 'call')}${malformed}`
}
