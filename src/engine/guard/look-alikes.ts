import * as token from './tokens.ts'
import * as verdict from './verdicts.ts'

/** What the guard sets into a text that it breaks: visible, and taken back by deleting it. */
export const mark = '·'

/** Where a look-alike can begin, or in the case of a verdict's label, end. */
const candidate = /\n|<(?=[|｜/A-Za-z])|\[(?=[[/A-Zgs])|[:：](?=[\s"'`*_“‘[(]{0,7}[-+.A-Za-z\d０-９])|[⟦⟧]/g

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
  candidate.lastIndex = 0
  while (candidate.test(text)) {
    const resume = candidate.lastIndex
    const at = resume - 1
    switch (text[at]) {
      case '\n':
        atLineStart(resume)
        break
      case '<':
        if (breaking.tokens && fits(token.angledToken, text, at)) insert(resume, 'tokens')
        else if (breaking.verdicts && fits(verdict.verdictTag, text, at)) insert(resume, 'verdicts')
        break
      case '[':
        if (breaking.tokens && fits(token.bracketedToken, text, at)) insert(resume, 'tokens')
        else if (breaking.verdicts && fits(verdict.rating, text, at)) insert(resume, 'verdicts')
        break
      case '⟦':
        if (breaking.tokens && fits(token.openFence, text, at)) insert(resume, 'tokens')
        break
      case '⟧':
        if (breaking.tokens && token.fenceTail.test(text.slice(Math.max(0, at - 8), at)))
          insert(at - 7, 'tokens')
        break
      default:
        atColon(at)
    }
    candidate.lastIndex = resume
  }
  return copied === 0 ? text : result + text.slice(copied)
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function fits(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}
