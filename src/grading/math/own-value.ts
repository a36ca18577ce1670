import { isLabel } from './read-answer.ts'

const announcement =
  /^[\s$]*(?:\\text(?:bf|rm|it)?\s*\{)?\s*(?:(?:so|thus|therefore|hence)[\s,]+)?(?:the\s+)?(?:(?:final|correct)\s+)?answer\s*(?:\}\s*=|(?:is\b\s*:?|[:=])\s*(\}?))\s*/i
/** What an answer is, in words before it: `\text{Domain: } [-2,2]`. */
const heading =
  /^[\s$]*\\(?:text(?:bf|rm|it)?|mathrm|mbox)\s*\{\s*([\p{L}' -]{2,40}?)\s*(?:(?::|\s(?:is|are|equals):?)\s*\}|\}\s*:)\s*(?=\S)/u
/** A side of an equation that is worked out from its bounds or goes on in dots. */
const worked =
  /(?:\||\\r?[vV]ert|\])\s*_\s*(?:\{[^{}=]{1,40}\}|\w)\s*\^|\\(?:[cl]?dots|det|oint|iint)(?![a-z])|\\begin\{vmatrix\}/
/** What is computed before the equals sign: a limit, an integral, a sum, a probability. */
const computing =
  /^[\s$=]*(?:\\displaystyle\s*)?(?:(?:lim|det|rank|tr|dim|Var|Cov)(?![\p{L}])|∫|∑|\\(?:lim|liminf|limsup|int|iint|iiint|oint|sum|prod|Pr|mathbb\s*\{?[PE]\}?)(?![A-Za-z])|\\[dt]?frac\s*\{\s*(?:d|\\partial|\\mathrm\s*\{d\})\^?\{?\d?\}?\s*\}\s*\{\s*(?:d|\\partial|\\mathrm\s*\{d\})\s?[a-z](?:\^\{?\d\}?)?\s*\}|(?:P|Pr|E|Var|Cov)\s*(?:\\left\s*)?[([])/u

/** A composition, which is a function of its own: `(f \\circ g)(3)`. */
const composed = /\(\s*[a-zA-Z]\s*(?:\\circ|∘)\s*[a-zA-Z]\s*\)\s*(?=\()/g

/** An answer without the words that announce it, and a computation's value without the computation. */
export function stated(given: string): string {
  const text = withoutCondition(inOneLine(given)).replace(composed, 'h')
  const announced = announcement.exec(text)
  const said = announced?.[0] ?? ''
  const opens = said.includes('{')
  const own =
    announced === null
      ? text
      : opens && announced[1] === ''
        ? text.slice(said.length).replace(/\}(?=[^{}]*$)/, '')
        : text.slice(said.length)
  const named = heading.exec(own)
  const bare = named !== null && isLabel(named[1] ?? '') ? own.slice(named[0].length) : own
  return withoutComputation(bare)
}

const lines = /^[\s$]*\\begin\{(aligned|align\*?|split|gathered)\}([\s\S]*)\\end\{\1\}[\s$]*$/

/** An equation over several lines, each of which goes on with an equals sign, as one line. */
function inOneLine(text: string): string {
  const [, , inner = ''] = text.includes('\\begin') ? (lines.exec(text) ?? []) : []
  const parts = inner.split(/\\\\(?:\s*\[[^\]]{0,10}\])?/)
  const goesOn = inner !== '' && parts.slice(1).every((part) => /^\s*(?:&\s*)?(?:=|$)/.test(part))
  return goesOn ? parts.join(' ').replace(/(?<!\\)&/g, ' ') : text
}

/** Where a name may lie, or which value it may not have, behind an answer: `, k \in \mathbb{Z}`. */
const condition =
  /^([\s\S]*?)[\s,;]*(?:\\q?quad\s*|\\[,; ])*\(?(?:\\text\s*\{\s*,?\s*(?:for|where|with|and)(?:\s+(?:all|any))?\s*\}\s*)?([A-Za-z])\s*(?:(?:\\in(?![a-z])|∈)\s*(?:\\mathbb\s*\{?[ZNRQC]\}?|[ℤℕℝℚℂ])(?:[_^]?\{?[+*]\}?)?|,\s*\2\s*(?:\\neq?|≠)\s*-?\d+)\)?[\s$.]*$/u
const excludedAtEnd =
  /^([\s\S]*?)\s*,(?:\s|\\[,; ]|\\q?quad)*\(?\s*([A-Za-z])\s*(?:\\neq?(?![a-z])|≠)\s*-?\d+\s*\)?[\s$.]*$/u

function withoutCondition(text: string): string {
  if (text.length > 2000 || !/\\in(?![a-z])|∈|\\ne|≠/.test(text)) return text
  for (const pattern of [condition, excludedAtEnd]) {
    const [, kept = '', name = ''] = pattern.exec(text) ?? []
    if (kept.length > 0 && new RegExp(`(?<![A-Za-z\\\\])${name}(?![A-Za-z])`).test(kept))
      return text.trimStart().startsWith('$') && !kept.trimEnd().endsWith('$') ? `${kept}$` : kept
  }
  return text
}

/** A computation's value without the computation. */
function withoutComputation(own: string): string {
  if (!computing.test(own) && !worked.test(own.slice(0, own.indexOf('=') >>> 0))) return own
  const last = lastEquals(own)
  return last < 0 ? own : own.slice(last + 1)
}

/** The last equals sign outside of braces and brackets. -1: none. */
function lastEquals(text: string): number {
  let [depth, found] = [0, -1]
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? ''
    if ('{(['.includes(sign)) depth++
    else if ('})]'.includes(sign)) depth--
    else if (sign === '=' && depth === 0) found = at
  }
  return found
}
