import { useEffect, useRef, useState } from 'preact/hooks'
import { post, sessionKey } from '../live/session.ts'
import { state } from '../live/store.ts'
import { KeyField } from './key-field.tsx'

/** An instance to be drained, or (`isBack`) to be taken back. */
export interface Order {
  readonly model: string
  readonly address: string
  readonly weight: number
  readonly isBack: boolean
}

/** Asks once more, and for a key that may where the tab's own may not; that one is not kept. `isOff`: no key may. */
export function DrainDialog(props: {
  readonly order: Order
  readonly isOff: boolean
  readonly done: () => void
}) {
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
        <h2 id="drain-title">{isBack ? 'Take back' : 'Drain'}</h2>
        <p>
          <code>{address}</code>{' '}
          {isBack ? 'gets questions again.' : 'finishes its calls and gets no further questions.'}
        </p>
        {isOff && (
          <p class="error">
            The admin API is off: no key in gateway.yaml has the scope <code>admin</code>.
          </p>
        )}
        {!isOff && !mayAlready && <KeyField label="Admin key, for this once" value={key} write={write} />}
        {trouble !== '' && (
          <p class="error" role="alert">
            {trouble}
          </p>
        )}
        <div class="actions">
          {!isOff && (
            <button type="submit" class="primary">
              {isBack ? 'Take back' : 'Drain'}
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
