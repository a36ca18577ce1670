import { useMemo } from 'preact/hooks'

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

/** Signs that are not seen, that turn the direction of text, or that belong to no character. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029\u115f\u1160\u3164\uffa0]/u
const pieces = /([\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029\u115f\u1160\u3164\uffa0]+)/u
const kept = /^[\n\t]+$/

/** A piece of text; `isMark`: it stands for signs that would not be seen. */
interface VisiblePiece {
  readonly text: string
  readonly isMark: boolean
}

/** Marks of one run of unseen signs that are written out. */
const maxMarks = 8
const maxPieces = 4000

/** Text with every unseen sign but line breaks and tabs named by its code point. */
function visiblePieces(text: string): readonly VisiblePiece[] {
  if (!unseen.test(text)) return [{ text, isMark: false }]
  const parts = text.split(pieces)
  const shown = parts.slice(0, maxPieces).flatMap((part, at): VisiblePiece[] => {
    if (part === '') return []
    if (at % 2 === 0 || kept.test(part)) return [{ text: part, isMark: false }]
    return part.split(/([\n\t]+)/).flatMap((run, inner) => {
      if (run === '') return []
      return [inner % 2 === 1 ? { text: run, isMark: false } : { text: marksOf(run), isMark: true }]
    })
  })
  return parts.length > maxPieces ? [...shown, { text: ' [more]', isMark: true }] : shown
}

/** The same as one text, for attributes. */
export const visibleText = (text: string): string =>
  visiblePieces(text)
    .map((piece) => piece.text)
    .join('')

function marksOf(run: string): string {
  const points = [...run]
  const named = points
    .slice(0, maxMarks)
    .map((sign) => `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`)
  return named.join('') + (points.length > maxMarks ? `⟨${points.length - maxMarks} more⟩` : '')
}
