import { useMemo } from 'preact/hooks'

/** Untrusted text, shown literally, with invisible characters made visible. */
export function Text({ of }: { readonly of: string }) {
  const pieces = useMemo(() => visiblePieces(of), [of])
  return (
    <bdi class="text">
      {pieces.map(({ text, isMark }) => (isMark ? <span class="mark">{text}</span> : text))}
    </bdi>
  )
}

/** A long text in a scrollable box. */
function TextBox({ of, label }: { readonly of: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section class="box" aria-label={label} tabIndex={0}>
      <Text of={of} />
    </section>
  )
}

/** A recorded text: the text itself, its hash, or a note that it is not shown. */
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
  return <TextBox of={jsonText(of)} label={label} />
}

/** Characters of a list or an object that stands on one line. */
const oneLine = 72

/** Values deeper than this stand on one line: each level writes the levels below again. */
const maxDepth = 12

/** JSON with line breaks only where a value is too long for one line. */
function jsonText(value: unknown, indent = ''): string {
  const short = JSON.stringify(value)
  if (short.length <= oneLine) return spaced(short, value)
  if (typeof value !== 'object' || value === null || indent.length > 2 * maxDepth) return short
  const deeper = `${indent}  `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const entries = Array.isArray(value)
    ? value.map((one) => jsonText(one, deeper))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${jsonText(one, deeper)}`)
  return `${open}\n${entries.map((one) => deeper + one).join(',\n')}\n${indent}${close}`
}

/** `[6, 7]` and `{ "a": 1 }` rather than `[6,7]`. */
function spaced(short: string, value: unknown): string {
  if (typeof value !== 'object' || value === null) return short
  if (Array.isArray(value)) return `[${value.map((one) => spaced(JSON.stringify(one), one)).join(', ')}]`
  const entries = Object.entries(value)
  if (entries.length === 0) return '{}'
  return `{ ${entries.map(([name, one]) => `${JSON.stringify(name)}: ${spaced(JSON.stringify(one), one)}`).join(', ')} }`
}

const isHash = (value: unknown): value is { readonly sha256: string; readonly chars: number } =>
  typeof value === 'object' && value !== null && 'sha256' in value && 'chars' in value

/** Control and format characters, which are invisible or change the direction of text, and unpaired surrogates. */
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029\u115f\u1160\u3164\uffa0]/u
const pieces = /([\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029\u115f\u1160\u3164\uffa0]+)/u
const kept = /^[\n\t]+$/

/** A piece of text; `isMark` if it stands for invisible characters. */
interface VisiblePiece {
  readonly text: string
  readonly isMark: boolean
}

/** Invisible characters of one run that are written out. */
const maxMarks = 8
const maxPieces = 4000

/** Replaces invisible characters, except line breaks and tabs, with their code points. */
function visiblePieces(text: string): readonly VisiblePiece[] {
  if (!invisible.test(text)) return [{ text, isMark: false }]
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

/** The same as one string, for attributes. */
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
