import { useState } from 'preact/hooks'
import { accessOf, sessionKey } from '../live/session.ts'
import { connect } from '../live/store.ts'

/** Asks for the key of this tab. */
export function KeyForm({ trouble, done }: { readonly trouble: string; readonly done: () => void }) {
  const [key, write] = useState('')
  const [said, say] = useState('')
  const submit = async (event: Event) => {
    event.preventDefault()
    const access = await accessOf(key.trim()).catch(() => null)
    if (!access) return say('The gateway does not answer.')
    if (!access.read) return say("This key may not read: it needs the scope 'read'.")
    done()
    void connect(key.trim())
  }
  return (
    <form class="panel key-form" onSubmit={submit}>
      <h1>Key</h1>
      <p class="muted">
        Reading needs a key with the scope <code>read</code>, the playground <code>score</code>, draining{' '}
        <code>admin</code>. It stays in this tab and is gone with it.
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
            Forget the key
          </button>
        )}
        <button type="button" class="quiet" onClick={done}>
          Cancel
        </button>
      </div>
    </form>
  )
}

/** Where a key is typed in, unseen; the browser does not keep it. */
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
