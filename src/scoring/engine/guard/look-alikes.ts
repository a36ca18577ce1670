import { drained } from '../../../core/slices.ts'
import type { GuardConfig } from '../../models/api/model-config.ts'
import { asciiTable, isAscii, withoutInvisible } from './characters.ts'
import * as token from './tokens.ts'
import * as verdict from './verdicts.ts'

/**
 * A value without anything that a judge or a parser could mistake for structure. Adds the parts of the guard that
 * changed it to `found`. Invisible characters come first: making them visible breaks any look-alike that contains them.
 */
export function neutralised(value: string, guard: GuardConfig, found: Set<string>): string {
  return drained(neutralising(value, guard, found))
}

/** The same in slices: megabytes of nothing but attacks take a second. */
export function* neutralising(
  value: string,
  guard: GuardConfig,
  found: Set<string>,
): Generator<void, string> {
  let ascii = isAscii(value)
  let text = value
  if (guard.invisible) {
    text = yield* withoutInvisible(value, ascii)
    if (text !== value) {
      found.add('invisible')
      ascii = false
    }
  }
  return guard.tokens || guard.verdicts ? yield* withoutLookAlikes(text, guard, found, ascii) : text
}

/** The mark that the guard inserts to break a look-alike: visible, and removed by deleting it. */
export const mark = '·'

/** The step token of Math-Shepherd's process reward model. */
const stepMark = 'ки'

/** A character sequence at which a look-alike can begin or, for a verdict's label, end. */
interface Sign {
  readonly sign: string
  /** ASCII characters that can follow it in a look-alike. A non-ASCII character always can. */
  readonly next: Uint8Array
  /** Whether the text before it allows a look-alike; absent: always. */
  readonly follows?: (text: string, at: number) => boolean
}

const any = asciiTable(/[\s\S]/)
const verdictStart = asciiTable(/[\s"'`*_[(\-+.A-Za-z\d]/)
const afterLabel = { next: verdictStart, follows: verdict.mayFollowLabel }
const asciiSigns: readonly Sign[] = [
  { sign: '\n', next: any },
  { sign: '<', next: asciiTable(/[|/[\]A-Za-z_]/) },
  { sign: '[', next: asciiTable(/[[/|A-Zcgs]/) },
  { sign: ':', ...afterLabel },
  { sign: '=', ...afterLabel },
  { sign: '->', ...afterLabel },
  { sign: '~', next: asciiTable(/[a-z![\]]/) },
  { sign: '/', next: asciiTable(/[ant]/) },
  { sign: '\r', next: asciiTable(/[^\n]/) },
]
const signs: readonly Sign[] = [
  ...asciiSigns,
  ...'：→'.split('').map((sign) => ({ sign, ...afterLabel })),
  ...'⟦⟧'.split('').map((sign) => ({ sign, next: any })),
  { sign: stepMark, next: any, follows: (text, at) => isWord(text, at, stepMark.length) },
]

/** Which look-alikes to break. */
export interface Breaking {
  readonly tokens: boolean
  readonly verdicts: boolean
}

/**
 * Inserts a mark after the first character of each control token, role heading and verdict, and adds what it broke to
 * `found`. A one-line value is an answer, even if it is YES. One linear pass. Yields between slices.
 */
export function* withoutLookAlikes(
  text: string,
  breaking: Breaking,
  found: Set<string>,
  ascii = isAscii(text),
): Generator<void, string> {
  const isOneLine = !text.includes('\n')
  const boxed = breaking.verdicts && !isOneLine ? boxedEndOf(text) : -1
  let result = ''
  let copied = 0
  const insert = (at: number, part: keyof Breaking): void => {
    // Never marks the same place twice, nor a place that was already copied.
    if (at < copied) return
    result += text.slice(copied, at) + mark
    copied = at
    found.add(part)
  }
  const atLineStart = (at: number): void => {
    const role = breaking.tokens && token.mayStartTurn(text, at) ? matchAt(token.turn, text, at) : null
    if (role) insert(at + (role[1] ?? role[2] ?? role[3] ?? role[4] ?? '').length + 1, 'tokens')
    const mayBeBare = breaking.verdicts && !isOneLine && !role && verdict.bareStarts[text.charCodeAt(at)]
    const bare = mayBeBare ? matchAt(verdict.bareLine, text, at) : null
    if (bare) insert(at + (bare[1] ?? '').length + 1, 'verdicts')
  }
  const atVerdict = (at: number): void => {
    if (!breaking.verdicts) return
    const label = verdict.labelBefore(text, at)
    if (label < 0 || !fits(verdict.verdictAfter, text, at)) return
    if (text[at] !== '=' || fits(verdict.assigned, text, at)) insert(label + 1, 'verdicts')
  }
  atLineStart(0)
  const look = (at: number): void => {
    switch (text[at]) {
      case '\n':
      case '\r':
        atLineStart(at + 1)
        break
      case '<':
        if (breaking.tokens && token.isAngledToken(text, at)) insert(at + 1, 'tokens')
        else if (breaking.verdicts && verdict.isVerdictTag(text, at)) insert(at + 1, 'verdicts')
        break
      case '[':
        if (breaking.tokens && token.isBracketedToken(text, at)) insert(at + 1, 'tokens')
        else if (breaking.verdicts && fits(verdict.rating, text, at)) insert(at + 1, 'verdicts')
        break
      case '~':
        if (breaking.tokens && token.isTildeToken(text, at)) insert(at, 'tokens')
        break
      case '/':
        if (breaking.tokens && fits(token.thinkingSwitch, text, at)) insert(at + 1, 'tokens')
        break
      case stepMark[0]:
        if (breaking.tokens) insert(at + 1, 'tokens')
        break
      case '⟦':
        if (breaking.tokens && fits(token.openFence, text, at)) insert(at + 1, 'tokens')
        break
      case '⟧':
        if (breaking.tokens && token.fenceTail.test(text.slice(Math.max(0, at - 8), at)))
          insert(at - 7, 'tokens')
        break
      default:
        atVerdict(at)
    }
  }
  yield* visit(text, ascii, look)
  if (boxed >= 0) insert(boxed, 'verdicts')
  return copied === 0 ? text : result + text.slice(copied)
}

/** The offset after the backslash if the last line is a boxed verdict; otherwise -1. */
function boxedEndOf(text: string): number {
  const from = Math.max(0, text.length - verdict.boxedReach)
  const found = verdict.boxedEnd.exec(text.slice(from))
  return found ? from + found.index + found[0].length : -1
}

/** Signs checked in one slice of work. */
const signsAtOnce = 1024

/** Calls `visited` in order with each offset at which a look-alike can begin. */
function* visit(text: string, ascii: boolean, visited: (at: number) => void): Generator<void, void> {
  const searches: Search[] = []
  for (const one of ascii ? asciiSigns : signs) {
    const at = following(text, one, 0)
    if (at >= 0) searches.push({ of: one, at })
  }
  for (let seen = 1; ; seen++) {
    if (seen % signsAtOnce === 0) yield
    let first = searches[0]
    for (const search of searches) if (first && search.at < first.at) first = search
    if (!first) return
    visited(first.at)
    first.at = following(text, first.of, first.at + 1)
    if (first.at < 0) searches.splice(searches.indexOf(first), 1)
  }
}

interface Search {
  readonly of: Sign
  at: number
}

/** The next offset of the sign between allowed neighbours; -1 if there is none. */
function following(text: string, { sign, next, follows }: Sign, from: number): number {
  let at = text.indexOf(sign, from)
  while (at >= 0) {
    const code = text.charCodeAt(at + sign.length)
    if ((code < 128 ? next[code] === 1 : true) && (!follows || follows(text, at))) return at
    at = text.indexOf(sign, at + 1)
  }
  return -1
}

const wordCharacter = /[\p{L}\p{N}]/u

/** Whether the text at this offset is a word of its own. */
const isWord = (text: string, at: number, length: number): boolean =>
  !wordCharacter.test(text[at - 1] ?? ' ') && !wordCharacter.test(text[at + length] ?? ' ')

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function fits(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}
