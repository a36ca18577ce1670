import { asciiTable, isAscii } from './ascii.ts'
import * as token from './tokens.ts'
import * as verdict from './verdicts.ts'

/** What the guard sets into a text that it breaks: visible, and taken back by deleting it. */
export const mark = '·'

/** Where a look-alike can begin, or in the case of a verdict's label, end. */
const candidate = /\n|<(?=[|｜/A-Za-z])|\[(?=[[/A-Zgs])|[:：](?=[\s"'`*_“‘[(]{0,7}[-+.A-Za-z\d０-９])|[⟦⟧]/g

/** The same in ASCII: a character, and what follows it where a look-alike begins. */
const asciiCandidates = [
  { character: '\n', next: asciiTable(/[\s\S]/) },
  { character: '<', next: asciiTable(/[|/A-Za-z]/) },
  { character: '[', next: asciiTable(/[[/A-Zgs]/) },
  { character: ':', next: asciiTable(/[\s"'`*_[(\-+.A-Za-z\d]/) },
]

/** Which look-alikes are broken. */
export interface Breaking {
  readonly tokens: boolean
  readonly verdicts: boolean
}

/**
 * A text whose control tokens, role marks and verdicts have a mark after their first character. A value of one line is
 * an answer, even if it is YES. Adds to `found` what there was. One pass, linear.
 */
export function withoutLookAlikes(text: string, breaking: Breaking, found: Set<string>): string {
  const isOneLine = !text.includes('\n')
  let result = ''
  let copied = 0
  const insert = (at: number, part: keyof Breaking): void => {
    // A mark that stands there already is not set twice, nor is one set before what was copied.
    if (at < copied) return
    result += text.slice(copied, at) + mark
    copied = at
    found.add(part)
  }
  const atLineStart = (at: number): void => {
    // Most lines are ruled out by their first character: a long answer has thousands.
    const first = text.charCodeAt(at)
    const role = breaking.tokens && token.turnStarts[first] ? matchAt(token.turn, text, at) : null
    if (role) insert(at + (role[1] ?? role[2] ?? '').length + 1, 'tokens')
    const mayBeBare = breaking.verdicts && !isOneLine && !role && verdict.bareStarts[first]
    const bare = mayBeBare ? matchAt(verdict.bareLine, text, at) : null
    if (bare) insert(at + (bare[1] ?? '').length + 1, 'verdicts')
  }
  const atColon = (at: number): void => {
    if (!breaking.verdicts || !fits(verdict.verdictAfter, text, at)) return
    const from = Math.max(0, at - verdict.labelReach)
    const label = verdict.labelBefore.exec(text.slice(from, at))
    if (label) insert(from + label.index + 1, 'verdicts')
  }
  atLineStart(0)
  const look = (at: number): void => {
    switch (text[at]) {
      case '\n':
        atLineStart(at + 1)
        break
      case '<':
        if (breaking.tokens && fits(token.angledToken, text, at)) insert(at + 1, 'tokens')
        else if (breaking.verdicts && fits(verdict.verdictTag, text, at)) insert(at + 1, 'verdicts')
        break
      case '[':
        if (breaking.tokens && fits(token.bracketedToken, text, at)) insert(at + 1, 'tokens')
        else if (breaking.verdicts && fits(verdict.rating, text, at)) insert(at + 1, 'verdicts')
        break
      case '⟦':
        if (breaking.tokens && fits(token.openFence, text, at)) insert(at + 1, 'tokens')
        break
      case '⟧':
        if (breaking.tokens && token.fenceTail.test(text.slice(Math.max(0, at - 8), at)))
          insert(at - 7, 'tokens')
        break
      default:
        atColon(at)
    }
  }
  if (isAscii(text)) visitAscii(text, look)
  else for (const { index } of text.matchAll(candidate)) look(index)
  return copied === 0 ? text : result + text.slice(copied)
}

/** Tells where look-alikes can begin in an ASCII text, in order. */
function visitAscii(text: string, visit: (at: number) => void): void {
  const searches: { readonly character: string; readonly next: Uint8Array; at: number }[] = []
  for (const { character, next } of asciiCandidates) {
    const at = text.indexOf(character)
    if (at >= 0) searches.push({ character, next, at })
  }
  for (;;) {
    let first = searches[0]
    for (const search of searches) if (first && search.at < first.at) first = search
    if (!first) return
    if (first.next[text.charCodeAt(first.at + 1)]) visit(first.at)
    first.at = text.indexOf(first.character, first.at + 1)
    if (first.at < 0) searches.splice(searches.indexOf(first), 1)
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function fits(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}
