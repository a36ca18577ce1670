import { useState } from 'preact/hooks'
import { accessOf, sessionKey } from '../live/session.ts'
import { connect } from '../live/store.ts'

/** Asks for an API key. */
export function KeyForm({ trouble, done }: { readonly trouble: string; readonly done: () => void }) {
  const [key, write] = useState('')
  const [said, say] = useState('')
  const submit = async (event: Event) => {
    event.preventDefault()
    const access = await accessOf(key.trim()).catch(() => null)
    if (!access) return say('The gateway is not responding.')
    if (!access.read) return say("This key cannot read: it needs the scope 'read'.")
    done()
    void connect(key.trim())
  }
  return (
    <form class="panel key-form" onSubmit={submit}>
      <h1>API key</h1>
      <p class="muted">
        This page needs a key with the scope <code>read</code>. The playground also needs <code>score</code>,
        and draining an instance needs <code>admin</code>. The key is stored in this tab only, until you close
        it.
      </p>
      {(said || trouble) && (
        <p class="error" role="alert">
          {said || trouble}
        </p>
      )}
      <KeyField label="Key" value={key} write={write} />
      <div class="actions">
        <button type="submit" class="primary">
          Use this key
        </button>
        {sessionKey() !== '' && (
          <button
            type="button"
            onClick={() => {
              done()
              void connect('')
            }}
          >
            Forget key
          </button>
        )}
        <button type="button" class="quiet" onClick={done}>
          Cancel
        </button>
      </div>
    </form>
  )
}

/** A masked input for a key, which the browser does not store. */
export function KeyField(props: {
  readonly label: string
  readonly value: string
  readonly write: (key: string) => void
}) {
  const { label, value, write } = props
  return (
    <label>
      <span>{label}</span>
      <input
        type="password"
        autocomplete="off"
        required
        value={value}
        onInput={(event) => write(event.currentTarget.value)}
      />
    </label>
  )
}
