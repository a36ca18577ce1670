import { useState } from 'preact/hooks'
import type { ShownInstance, ShownModel } from '../../http/inspector/shown-model.ts'
import { Meter } from '../charts/meter.tsx'
import { SparkLine } from '../charts/spark-line.tsx'
import { count, duration, percent } from '../format.ts'
import { parkedText } from '../live/alerts.ts'
import { useLive } from '../live/store.ts'
import { DrainDialog, type Order } from '../parts/drain-dialog.tsx'
import { TableHead } from '../parts/table-head.tsx'

const words: Readonly<Record<string, string>> = {
  ready: 'Breaker closed',
  trial: 'Breaker half open: one question tries it',
  ejected: 'Breaker open: it gets no questions',
  draining: 'No further questions',
  'other-model': 'It answers, but serves another model',
  suspect: 'It answers known questions wrongly',
  asleep: 'Its GPU memory is given back',
}

/** Models, their servers and how each stands. */
export function PoolsView() {
  const live = useLive()
  const [order, give] = useState<Order | null>(null)
  const models = live.standing?.models ?? []
  return (
    <>
      <div class="view-head">
        <h1>Pools</h1>
        <span class="muted">{count(live.standing?.in_flight ?? 0)} samples in work</span>
      </div>
      {models.length === 0 && <p class="empty">No reward asks a model.</p>}
      {models.map((model) => (
        <Pool model={model} give={give} histories={live.instances} />
      ))}
      {order && <DrainDialog order={order} isOff={!live.served?.has_admin} done={() => give(null)} />}
    </>
  )
}

function Pool(props: {
  readonly model: ShownModel
  readonly give: (order: Order) => void
  readonly histories: ReadonlyMap<string, { readonly latency: number[] }>
}) {
  const { model, give, histories } = props
  return (
    <section class="panel" aria-label={model.name}>
      <div class="panel-head">
        <h2>{model.name}</h2>
        <p class="muted">
          {model.serves} · {model.backend}
          {model.memory === 'asleep' && ' · asleep'}
          {model.waiting > 0 && ` · ${count(model.waiting)} questions wait`}
          {model.parked > 0 && <strong class="bad-text">{` · ${parkedText(model)}`}</strong>}
        </p>
      </div>
      <div class="scroll">
        <table class="pool">
          <caption class="hidden">Instances of {model.name}</caption>
          <TableHead
            columns={[
              'Instance',
              'State',
              ['In flight', 'number'],
              ['Latency', 'number'],
              ['Latency over time', 'wide-only', true],
              ['Calls', 'number'],
              ['Errors', 'number'],
              ['Actions', '', true],
            ]}
          />
          <tbody>
            {model.instances.map((instance) => (
              <Instance
                model={model.name}
                instance={instance}
                latency={histories.get(`${model.name} ${instance.address}`)?.latency ?? []}
                give={give}
              />
            ))}
          </tbody>
        </table>
        {model.instances.length === 0 && <p class="empty">It has no instance.</p>}
      </div>
    </section>
  )
}

function Instance(props: {
  readonly model: string
  readonly instance: ShownInstance
  readonly latency: readonly number[]
  readonly give: (order: Order) => void
}) {
  const { model, instance, latency, give } = props
  const { address, state, in_flight: inFlight, limit, latency_ms: ms, calls, errors } = instance
  const slowest = Math.max(...latency, 1)
  const isDraining = state === 'draining'
  return (
    <tr>
      <th scope="row">
        <code>{address}</code>
      </th>
      <td>
        <span class={`state ${state}`} title={words[state]}>
          {state}
        </span>
      </td>
      <td class="number">
        <span class="in-flight">
          {inFlight} / {limit}
          <Meter value={inFlight} limit={limit} label={`${inFlight} of ${limit} questions`} />
        </span>
      </td>
      <td class="number">{ms === 0 ? '–' : duration(ms)}</td>
      <td class="wide-only">
        <SparkLine values={latency} range={[0, slowest]} label={`Latency, up to ${duration(slowest)}`} />
      </td>
      <td class="number">{count(calls)}</td>
      <td class={`number ${errors > 0 ? 'bad-text' : ''}`}>
        {count(errors)}
        {errors > 0 && <span class="muted"> {percent(errors / Math.max(1, calls))}</span>}
      </td>
      <td class="number">
        <button
          type="button"
          aria-label={`${isDraining ? 'Take back' : 'Drain'} ${address}`}
          onClick={() => give({ model, address, weight: instance.weight, isBack: isDraining })}
        >
          {isDraining ? 'Take back' : 'Drain'}
        </button>
      </td>
    </tr>
  )
}
