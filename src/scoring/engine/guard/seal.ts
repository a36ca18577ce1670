import { hash } from 'node:crypto'
import type { KnownText } from '../../models/api/question-json.ts'
import { longHash } from '../long-hash.ts'

/** What a question's value is known by, and what its fence is made of. */
export interface Seal {
  /** Stands for the value in the identity of its question; no two values have the same. */
  readonly identity: string
  /** 48 bits that the value's author cannot know. */
  readonly nonce: string
}

/** Longer values are known by their hash. */
const shortLength = 64
const nonceLength = 12

/**
 * One SHA-256 of a value, keyed by the secret, serves both. The nonce hangs on the value alone, so equal questions stay
 * equal and what stands before a value stays cacheable; the identity shares no bit with it.
 */
export const sealOf = (value: string, secret: string): Seal =>
  sealBy(value, hash('sha256', `${secret}\n${value}`))

/** The same seal, of a value of any length, in pieces. */
export function* sealing(value: string, secret: string): Generator<void, Seal> {
  return sealBy(value, yield* longHash(`${secret}\n`, value, 'utf8'))
}

const sealBy = (value: string, digest: string): Seal => ({
  identity: value.length <= shortLength ? `=${value}` : `#${digest.slice(nonceLength)}`,
  nonce: digest.slice(0, nonceLength),
})

/** What stands before a fenced value. The brackets are escapes in JSON: one wide character doubles a text's bytes. */
export const opening = (nonce: string): KnownText => ({
  text: `⟦${nonce}\n`,
  json: `\\u27e6${nonce}\\n`,
})

/** What stands after it. */
export const closing = (nonce: string): KnownText => ({
  text: `\n${nonce}⟧`,
  json: `\\n${nonce}\\u27e7`,
})

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
