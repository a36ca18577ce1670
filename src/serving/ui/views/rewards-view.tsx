import { useState } from 'preact/hooks'
import type { ServedReward } from '../../http/inspector/messages.ts'
import { Distribution, Histogram, Ranged, SparkLine } from '../charts.tsx'
import { count, figure, fixed, percent } from '../format.ts'
import {
  type KnownReward,
  type KnownSeries,
  lengthOf,
  meansOf,
  type Span,
  slotsOf,
  summed,
} from '../live/series.ts'
import { gatewayNow, type LiveState, useLive } from '../live/store.ts'
import { Scroll, TableHead } from '../parts/table.tsx'
import { addressOf } from '../route.ts'

/** Every reward that has scored something, with one of them in full. */
export function RewardsView({ chosen }: { readonly chosen: string }) {
  const live = useLive()
  const [span, choose] = useState<Span>('recent')
  const now = gatewayNow()
  const served = live.served?.rewards ?? []
  const used = served
    .filter(({ name }) => live.rewards.has(name))
    .sort((a, b) => (live.rewards.get(b.name)?.rows ?? 0) - (live.rewards.get(a.name)?.rows ?? 0))
  const idle = served.filter(({ name }) => !live.rewards.has(name))
  const shown = used.find(({ name }) => name === chosen) ?? used[0]
  const known = shown && live.rewards.get(shown.name)
  const every = used.flatMap(({ name }) => live.rewards.get(name)?.rewards ?? [])
  const length = lengthOf(every, span, now)
  return (
    <>
      <div class="view-head">
        <h1>Rewards</h1>
        <fieldset class="segments">
          <legend class="hidden">Time</legend>
          {(['recent', 'long'] as const).map((one) => (
            <label>
              <input type="radio" name="span" checked={one === span} onChange={() => choose(one)} />
              <span>{one === 'recent' ? '10 min' : '4 h'}</span>
            </label>
          ))}
        </fieldset>
      </div>
      {shown && known ? (
        <>
          <Overview live={live} used={used} shown={shown} span={span} now={now} length={length} />
          <OneReward served={shown} known={known} span={span} now={now} length={length} />
        </>
      ) : (
        <p class="empty">
          Nothing has been scored yet. Send samples to <code>/v1/score</code>, or try the{' '}
          <a href={addressOf('playground')}>playground</a>.
        </p>
      )}
      {idle.length > 0 && <p class="muted idle">Not used yet: {idle.map(({ name }) => name).join(', ')}</p>}
    </>
  )
}

function Overview(props: {
  readonly live: LiveState
  readonly used: readonly ServedReward[]
  readonly shown: ServedReward
  readonly span: Span
  readonly now: number
  readonly length: number
}) {
  const { live, used, shown, span, now, length } = props
  return (
    <div class="panel scroll">
      <table>
        <caption class="hidden">Rewards in use</caption>
        <TableHead
          columns={[
            'Reward',
            ['Rows', 'number'],
            ['Rows/s', 'number wide-only'],
            ['Invalid', 'number'],
            ['Mean', 'number'],
            ['Mean over time', 'wide-only'],
            ['Distribution', 'wide-only'],
          ]}
        />
        <tbody>
          {used.map(({ name }) => {
            const known = live.rewards.get(name)
            if (!known) return null
            const slots = slotsOf(known.rewards, span, now, length)
            const { n, mean, bins } = summed(slots)
            return (
              <tr class={name === shown.name ? 'chosen' : ''}>
                <th scope="row">
                  <a
                    href={addressOf('rewards', name)}
                    aria-current={name === shown.name ? 'true' : undefined}
                  >
                    {name}
                  </a>
                </th>
                <td class="number">{count(known.rows)}</td>
                <td class="number wide-only">{fixed(rateOf(known.rewards, now), 1)}</td>
                <td class="number">{percent(invalidShare(known))}</td>
                <td class="number strong">{fixed(mean)}</td>
                <td class="wide-only">
                  <SparkLine
                    values={meansOf(slots)}
                    range={known.rewards.range}
                    label={`Mean of ${name} over time`}
                  />
                </td>
                <td class="wide-only">
                  <Ranged range={known.rewards.range}>
                    <Histogram bins={bins} label={`${n} rewards of ${name} by value`} />
                  </Ranged>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

const invalidShare = ({ invalid, rows }: KnownReward): number | null =>
  rows === 0 ? null : Object.values(invalid).reduce((sum, times) => sum + times, 0) / rows

/** Valid rows per second over the last minute. */
function rateOf(series: KnownSeries, now: number): number {
  const last = slotsOf(series, 'recent', now).slice(-12)
  return last.reduce((sum, slot) => sum + (slot?.[1] ?? 0), 0) / 60
}

/** One reward in full: its distribution over time, why rows are invalid, and each of its terms. */
function OneReward(props: {
  readonly served: ServedReward
  readonly known: KnownReward
  readonly span: Span
  readonly now: number
  readonly length: number
}) {
  const { served, known, span, now, length } = props
  const slots = slotsOf(known.rewards, span, now, length)
  const { n, mean } = summed(slots)
  const from = now - slots.length * known.rewards[span].width
  const invalid = Object.entries(known.invalid).sort((a, b) => b[1] - a[1])
  return (
    <section class="panel" aria-label={served.name}>
      <div class="panel-head">
        <h2>{served.name}</h2>
        <p class="muted">{served.description}</p>
      </div>
      <Distribution
        slots={slots}
        range={known.rewards.range}
        from={from}
        to={now}
        label={`Rewards of ${served.name} over time: ${n} values, mean ${figure(mean)}`}
      />
      {invalid.length > 0 && (
        <p class="invalid-kinds">
          <span class="muted">Without a reward:</span>
          {invalid.map(([kind, times]) => (
            <span class="chip failed">
              {kind} <b>{count(times)}</b>
            </span>
          ))}
        </p>
      )}
      {served.gate !== null && (
        <p class="muted">
          Gate: <code>{served.gate}</code>
        </p>
      )}
      {served.formula !== null && (
        <p class="muted">
          Reward: <code>{served.formula}</code>
        </p>
      )}
      <Scroll label={`Terms of ${served.name}`}>
        <TermTable served={served} known={known} span={span} now={now} length={length} />
      </Scroll>
    </section>
  )
}

type Step = ServedReward['steps'][number]

/** What a step does in its reward: `weight 1 · gsm8k`, or `+ weight 0.3 · yes-no-judge by judge-a`. */
function partOf({ op, weight, function: name, models }: Step, isFirst: boolean, isFormula: boolean): string {
  const sign = isFirst ? '' : op === 'mul' ? '× ' : '+ '
  const share = isFormula ? '' : `${sign}weight ${figure(weight)} · `
  return share + name + (models.length === 0 ? '' : ` by ${models.join(', ')}`)
}

function TermTable(props: {
  readonly served: ServedReward
  readonly known: KnownReward
  readonly span: Span
  readonly now: number
  readonly length: number
}) {
  const { served, known, span, now, length } = props
  return (
    <table class="terms">
      <caption class="hidden">Terms of {served.name}</caption>
      <TableHead
        columns={[
          'Term',
          ['Scored', 'number'],
          ['Off', 'number wide-only'],
          ['Failed', 'number'],
          ['Mean', 'number'],
          ['Mean over time', 'wide-only'],
          'Distribution',
        ]}
      />
      <tbody>
        {known.terms.map(({ name, ended, scores }, at) => {
          const step = served.steps[at]
          const slots = slotsOf(scores, span, now, length)
          const { n, mean, bins } = summed(slots)
          const part = step && partOf(step, at === 0, served.formula !== null)
          return (
            <>
              <tr>
                <th scope="row">
                  <span class="term-name">{name}</span>
                  <span class="muted by wide-only">{part}</span>
                </th>
                <td class="number">{count(ended.scored ?? 0)}</td>
                <td class="number wide-only">{count(ended.off ?? 0)}</td>
                <td class={`number ${ended.failed ? 'bad-text' : ''}`}>{count(ended.failed ?? 0)}</td>
                <td class="number strong">{fixed(mean)}</td>
                <td class="wide-only">
                  <SparkLine
                    values={meansOf(slots)}
                    range={scores.range}
                    label={`Mean of ${name} over time`}
                  />
                </td>
                <td>
                  <Ranged range={scores.range}>
                    <Histogram
                      bins={bins}
                      label={`${n} scores of ${name} from ${scores.range.map(figure).join(' to ')}`}
                    />
                  </Ranged>
                </td>
              </tr>
              <tr class="narrow-only">
                <td class="muted" colSpan={5}>
                  {part}
                </td>
              </tr>
            </>
          )
        })}
      </tbody>
    </table>
  )
}
