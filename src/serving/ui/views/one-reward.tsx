import type { ServedReward } from '../../http/inspector/messages.ts'
import { Distribution } from '../charts/distribution.tsx'
import { Histogram } from '../charts/histogram.tsx'
import { SparkLine } from '../charts/spark-line.tsx'
import { count, figure, fixed } from '../format.ts'
import { type KnownReward, meansOf, type Span, slotsOf, summed } from '../live/series.ts'
import { Scroll } from '../parts/scroll.tsx'
import { TableHead } from '../parts/table-head.tsx'

/** One reward in full: its distribution over time, why rows have none, and each of its terms. */
export function OneReward(props: {
  readonly served: ServedReward
  readonly known: KnownReward
  readonly span: Span
  readonly now: number
}) {
  const { served, known, span, now } = props
  const slots = slotsOf(known.rewards, span, now)
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
        <TermTable served={served} known={known} span={span} now={now} />
      </Scroll>
    </section>
  )
}

function TermTable(props: {
  readonly served: ServedReward
  readonly known: KnownReward
  readonly span: Span
  readonly now: number
}) {
  const { served, known, span, now } = props
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
          const slots = slotsOf(scores, span, now)
          const { n, mean, bins } = summed(slots)
          return (
            <tr>
              <th scope="row">
                <span class="term-name">{name}</span>
                <span class="muted by">
                  {step && `${at === 0 ? '' : step.op === 'mul' ? '× ' : '+ '}${figure(step.weight)} · `}
                  {step?.models.length ? step.models.join(', ') : step?.function}
                </span>
              </th>
              <td class="number">{count(ended.scored ?? 0)}</td>
              <td class="number wide-only">{count(ended.off ?? 0)}</td>
              <td class={`number ${ended.failed ? 'bad-text' : ''}`}>{count(ended.failed ?? 0)}</td>
              <td class="number strong">{fixed(mean)}</td>
              <td class="wide-only">
                <SparkLine values={meansOf(slots)} range={scores.range} label={`Mean of ${name} over time`} />
              </td>
              <td>
                <Histogram
                  bins={bins}
                  label={`${n} scores of ${name} from ${scores.range.map(figure).join(' to ')}`}
                />
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
