/** A part of a prompt: text of the author, or a value between two fences. */
interface Piece {
  readonly text: string
  readonly isValue: boolean
}

/** A fence is a line's end, or its beginning, with a token that looks random: `⟦3f09ab12cd45`, `END 3f09ab12cd45 --`. */
const reach = 120
const token = /[0-9A-Za-z]{8,}/gu
const onlySigns = /^\s?[^\s0-9A-Za-z]{0,12}\s*$/u
const signs = /^\s?[^\s0-9A-Za-z]{1,12}/u

/** Cuts a prompt at lines that carry the same random token: what stands between two of them is a value. */
export function cutAtFences(text: string): Piece[] {
  const lines = text.split('\n')
  const closings = new Closings(lines)
  const pieces: Piece[] = []
  let outside: string[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const nonce = openingNonce(line)
    const end = nonce === null ? undefined : closings.after(nonce, at)
    if (nonce === null || end === undefined) {
      outside.push(line)
      at += 1
      continue
    }
    const opening = line.slice(0, line.lastIndexOf(nonce)).replace(/[^\p{L}\p{N}\s]{1,12}$/u, '')
    pieces.push({ text: [...outside, opening].join('\n'), isValue: false })
    pieces.push({ text: lines.slice(at + 1, end).join('\n'), isValue: true })
    const closing = lines[end] ?? ''
    lines[end] = closing.slice(closing.indexOf(nonce) + nonce.length).replace(signs, '')
    outside = []
    at = end
  }
  pieces.push({ text: outside.join('\n'), isValue: false })
  return pieces
}

function openingNonce(line: string): string | null {
  const tail = line.slice(-reach)
  const last = [...tail.matchAll(token)].at(-1)
  if (!last || !isRandom(last[0])) return null
  return onlySigns.test(tail.slice(last.index + last[0].length)) ? last[0] : null
}

/** For each random token: the lines that begin with it, a few words or signs before it allowed. */
class Closings {
  readonly #byNonce = new Map<string, { readonly lines: number[]; next: number }>()

  constructor(lines: readonly string[]) {
    for (const [index, line] of lines.entries()) {
      for (const [found] of line.slice(0, reach).matchAll(token)) {
        if (!isRandom(found)) continue
        const known = this.#byNonce.get(found)
        if (known) known.lines.push(index)
        else this.#byNonce.set(found, { lines: [index], next: 0 })
      }
    }
  }

  /** The first such line behind `at`; asked with a growing `at`, so that all asking together is linear. */
  after(nonce: string, at: number): number | undefined {
    const known = this.#byNonce.get(nonce)
    if (!known) return undefined
    while ((known.lines[known.next] ?? Number.POSITIVE_INFINITY) <= at) known.next += 1
    return known.lines[known.next]
  }
}

/** One hexadecimal nonce of 12 in 300 has no letter. */
function isRandom(word: string): boolean {
  return /\d/u.test(word) && (word.length === 12 || /[A-Za-z]/u.test(word))
}
