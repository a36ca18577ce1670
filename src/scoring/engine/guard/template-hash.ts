import { hash } from 'node:crypto'

/** What is known of the literals that begin so. */
interface Beginning {
  readonly next: Map<string, Beginning>
  hash: string
}

const none = (): Beginning => ({ next: new Map(), hash: '' })

let beginnings = none()
let kept = 0
const mostKept = 1024
/** Characters of what is kept: author's own text, not a sample's that was put in without the template tag. */
const longest = 8192

/**
 * SHA-256 of a question's literals, one list a message, hex. Templates are few and questions many: each is known by its
 * literals, whose own hashes the engine keeps, without a text of all of them.
 */
export function templateHash(literals: readonly (readonly string[])[]): string {
  let at = beginnings
  let length = 0
  for (const list of literals) {
    at = after(at, String(list.length))
    for (const literal of list) {
      length += literal.length
      if (length > longest) return hashOf(literals)
      at = after(at, literal)
    }
  }
  if (at.hash === '') at.hash = hashOf(literals)
  return at.hash
}

function after(at: Beginning, literal: string): Beginning {
  const known = at.next.get(literal)
  if (known) return known
  if (kept >= mostKept) {
    beginnings = none()
    kept = 0
  }
  const made = none()
  kept += 1
  at.next.set(literal, made)
  return made
}

const hashOf = (literals: readonly (readonly string[])[]): string => hash('sha256', JSON.stringify(literals))
