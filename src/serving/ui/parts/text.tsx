import { useMemo } from 'preact/hooks'
import { visiblePieces } from '../visible-text.ts'

/** Text that somebody else wrote: shown as it is, with what cannot be seen made visible. */
export function Text({ of }: { readonly of: string }) {
  const pieces = useMemo(() => visiblePieces(of), [of])
  return (
    <bdi class="text">
      {pieces.map(({ text, isMark }) => (isMark ? <span class="mark">{text}</span> : text))}
    </bdi>
  )
}

/** A long text in a box that can be scrolled. */
function TextBox({ of, label }: { readonly of: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section class="box" aria-label={label} tabIndex={0}>
      <Text of={of} />
    </section>
  )
}

/** What a record holds of a text: the text, its hash, or nothing. */
export function Kept({ of, label }: { readonly of: unknown; readonly label: string }) {
  if (typeof of === 'string')
    return of === '' ? <p class="muted">empty</p> : <TextBox of={of} label={label} />
  if (of === null || of === undefined) return <p class="muted">not shown</p>
  if (isHash(of))
    return (
      <p class="muted">
        withheld: {of.chars.toLocaleString('en-US')} characters, SHA-256{' '}
        <code>{of.sha256.slice(0, 16)}…</code>
      </p>
    )
  return <TextBox of={JSON.stringify(of, null, 2)} label={label} />
}

/** A text that the policy hashed. */
const isHash = (value: unknown): value is { readonly sha256: string; readonly chars: number } =>
  typeof value === 'object' && value !== null && 'sha256' in value && 'chars' in value
