import { useEffect, useState } from 'preact/hooks'
import type { RowDetail } from '../../telemetry/live/row-detail.ts'
import { clockTime, duration, figure } from '../format.ts'
import { askJson } from '../live/session.ts'
import { Flags, Question, Steps } from '../parts/steps.tsx'
import { Kept, Text } from '../parts/text.tsx'
import { addressOf } from '../route.ts'
import { takeUp } from './playground-draft.ts'

/** One sample: why it got its number. */
export function SampleDetail({ id }: { readonly id: string }) {
  const [row, show] = useState<RowDetail | null>(null)
  const [trouble, say] = useState('')
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
    <section class="panel detail" aria-label="Sample">
      <div class="panel-head spread">
        <h2>{row ? <Text of={row.sample.id} /> : 'Sample'}</h2>
        <a class="close" href={addressOf('samples')} aria-label="Close">
          ×
        </a>
      </div>
      {trouble !== '' && <p class="error">{trouble}</p>}
      {!row && trouble === '' && <p class="muted">Loading…</p>}
      {row && <Whole row={row} />}
    </section>
  )
}

function Whole({ row }: { readonly row: RowDetail }) {
  const { sample, config, failure } = row
  const isWhole = [sample.prompt, sample.response].every((text) => typeof text === 'string')
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
          {row.substitute !== null && ` Trainers that know no 'invalid' are given ${figure(row.substitute)}.`}
        </p>
      )}
      <Facts row={row} />
      {row.flags.length > 0 && <Flags of={row.flags} />}
      <h3>Why</h3>
      {config.formula !== null && (
        <p class="muted">
          Reward: <code>{config.formula}</code>
        </p>
      )}
      <Steps steps={row.terms} config={config} />
      <h3>Prompt</h3>
      <Question of={sample.prompt} label="Prompt" />
      <h3>Response</h3>
      <Kept of={sample.response} label="Response" />
      <h3>Ground truth</h3>
      <Kept of={sample.ground_truth} label="Ground truth" />
      {isWhole && (
        <p class="actions">
          <a class="button" href={addressOf('playground')} onClick={() => takeUp(row)}>
            Open in the playground
          </a>
        </p>
      )}
    </>
  )
}

function Facts({ row }: { readonly row: RowDetail }) {
  const facts: [string, string | null][] = [
    ['Record', row.id],
    ['Group', row.sample.group],
    ['Data source', row.sample.data_source],
    ['Run', row.run || null],
    ['Training step', row.training_step === null ? null : String(row.training_step)],
    ['Config', row.config.version],
  ]
  return (
    <dl class="pairs facts">
      {facts.map(([name, value]) =>
        value === null ? null : (
          <div>
            <dt>{name}</dt>
            <dd>
              <Text of={value} />
            </dd>
          </div>
        ),
      )}
    </dl>
  )
}
