import { useEffect, useRef, useState } from 'preact/hooks'
import type { ShownInstance, ShownModel, ShownSandbox } from '../../http/inspector/messages.ts'
import { Meter, SparkLine } from '../charts.tsx'
import { count, duration, percent } from '../format.ts'
import { parkedText } from '../live/alerts.ts'
import { post, sessionKey } from '../live/session.ts'
import { state, useLive } from '../live/store.ts'
import { KeyField } from '../parts/key-form.tsx'
import { TableHead } from '../parts/table.tsx'

const words: Readonly<Record<string, string>> = {
  trial: 'gets one question, as a trial',
  ejected: 'did not answer; gets no questions',
  draining: 'gets no new questions',
  'other-model': 'serves another model; gets no questions',
  'fails-canary': 'answers known questions wrongly; gets none',
  suspect: 'makes no progress; is being checked',
  joining: 'is being checked before its first question',
  asleep: 'its GPU memory is released',
}

/** Models and sandboxes, their servers and the state of each. */
export function PoolsView() {
  const live = useLive()
  const [order, give] = useState<Order | null>(null)
  const models = live.status?.models ?? []
  const sandboxes = live.status?.sandboxes ?? []
  return (
    <>
      <div class="view-head">
        <h1>Pools</h1>
        <span class="muted">{count(live.status?.in_flight ?? 0)} samples in progress</span>
      </div>
      {models.length === 0 && (
        <p class="empty">
          No model is configured: every reward is computed by rules alone. Name models under{' '}
          <code>models</code> in gateway.yaml to ask judges.
        </p>
      )}
      {models.map((model) => (
        <Pool model={model} give={give} histories={live.instances} />
      ))}
      {sandboxes.map((sandbox) => (
        <Pool model={sandbox} give={null} histories={live.instances} />
      ))}
      {order && <DrainDialog order={order} isOff={!live.served?.has_admin} done={() => give(null)} />}
    </>
  )
}

function Pool(props: {
  readonly model: ShownModel | ShownSandbox
  /** null: operators cannot drain its instances. */
  readonly give: ((order: Order) => void) | null
  readonly histories: ReadonlyMap<string, { readonly latency: readonly (number | null)[] }>
}) {
  const { model, give, histories } = props
  return (
    <section class="panel" aria-label={model.name}>
      <div class="panel-head">
        <h2>{model.name}</h2>
        <p class="muted">
          {'serves' in model ? `${model.serves} · ${model.backend}` : `sandbox · ${model.backend}`}
          {'memory' in model && model.memory === 'asleep' && ' · asleep'}
          {'confinement' in model && (
            <span class={model.is_confined ? '' : 'bad-text'}>{` · ${model.confinement}`}</span>
          )}
          {model.waiting > 0 &&
            ` · ${count(model.waiting)} ${'serves' in model ? 'questions' : 'programs'} waiting`}
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
              ['Latency', 'number narrow-hides'],
              ['Latency while this page is open', 'wide-only'],
              ['Calls', 'number narrow-hides'],
              ['Errors', 'number'],
              ...(give ? [['Actions', '', true] as const] : []),
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
        {model.instances.length === 0 && <p class="empty">It has no instances.</p>}
      </div>
    </section>
  )
}

function Instance(props: {
  readonly model: string
  readonly instance: ShownInstance
  readonly latency: readonly (number | null)[]
  readonly give: ((order: Order) => void) | null
}) {
  const { model, instance, latency, give } = props
  const { address, state, in_flight: inFlight, limit, latency_ms: ms, calls, errors } = instance
  const slowest = Math.max(1, ...latency.map((one) => one ?? 0))
  const [scheme = ''] = /^https?:\/\//.exec(address) ?? []
  const isDraining = state === 'draining'
  return (
    <tr>
      <th scope="row">
        <code>
          <span class="narrow-hides">{scheme}</span>
          {address.slice(scheme.length)}
        </code>
      </th>
      <td>
        <span class={`state ${state}`}>{state}</span>
        {state !== 'ready' && <span class="muted by">{words[state]}</span>}
      </td>
      <td class="number">
        <span class="in-flight">
          {inFlight} / {limit}
          <Meter value={inFlight} limit={limit} label={`${inFlight} of ${limit} questions`} />
        </span>
      </td>
      <td class="number narrow-hides">{ms === 0 ? '–' : duration(ms)}</td>
      <td class="wide-only">
        {latency.some((one) => one !== null) && (
          <span class="ranged">
            <span />
            <SparkLine values={latency} range={[0, slowest]} label={`Latency, up to ${duration(slowest)}`} />
            <span aria-hidden="true">to {duration(slowest)}</span>
          </span>
        )}
      </td>
      <td class="number narrow-hides">{count(calls)}</td>
      <td class={`number ${errors > 0 ? 'bad-text' : ''}`}>
        {count(errors)}
        {errors > 0 && <span class="muted"> {percent(errors / Math.max(1, calls))}</span>}
      </td>
      {give && (
        <td class="number">
          <button
            type="button"
            aria-label={`${isDraining ? 'Resume' : 'Drain'} ${address}`}
            onClick={() => give({ model, address, weight: instance.weight, isBack: isDraining })}
          >
            {isDraining ? 'Resume' : 'Drain'}
          </button>
        </td>
      )}
    </tr>
  )
}

/** Drains an instance, or with `isBack` returns it to its pool. */
interface Order {
  readonly model: string
  readonly address: string
  readonly weight: number
  readonly isBack: boolean
}

/** Asks for confirmation, and for an admin key unless the tab's key is one; that key is not stored. `isOff`: no key has the scope. */
function DrainDialog(props: { readonly order: Order; readonly isOff: boolean; readonly done: () => void }) {
  const { order, isOff, done } = props
  const { model, address, weight, isBack } = order
  const box = useRef<HTMLDialogElement>(null)
  const [key, write] = useState('')
  const [trouble, say] = useState('')
  const mayAlready = state.access?.admin === true
  useEffect(() => box.current?.showModal(), [])
  const submit = async (event: Event) => {
    event.preventDefault()
    const path = `../admin/models/${encodeURIComponent(model)}/instances`
    try {
      await post(
        isBack ? path : `${path}/drain`,
        isBack ? { url: address, weight } : { url: address },
        mayAlready ? sessionKey() : key.trim(),
      )
      done()
    } catch (error) {
      say((error as Error).message)
    }
  }
  return (
    <dialog ref={box} onClose={done} aria-labelledby="drain-title">
      <form onSubmit={submit}>
        <h2 id="drain-title">{isBack ? 'Resume' : 'Drain'}</h2>
        <p>
          <code>{address}</code>{' '}
          {isBack ? 'will get questions again.' : 'will finish its calls and get no new questions.'}
        </p>
        {isOff && (
          <p class="error">
            The admin API is off because no key in gateway.yaml has the scope <code>admin</code>.
          </p>
        )}
        {!isOff && !mayAlready && <KeyField label="Admin key, not stored" value={key} write={write} />}
        {trouble !== '' && (
          <p class="error" role="alert">
            {trouble}
          </p>
        )}
        <div class="actions">
          {!isOff && (
            <button type="submit" class="primary">
              {isBack ? 'Resume' : 'Drain'}
            </button>
          )}
          <button type="button" onClick={done}>
            {isOff ? 'Close' : 'Cancel'}
          </button>
        </div>
      </form>
    </dialog>
  )
}
