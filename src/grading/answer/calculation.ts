import { evaluate, type Fraction, fractions, readFraction, spelledOut, type Token } from '../arithmetic.ts'
import type { Another } from './wording.ts'

/** Numbers as people write them, and calculations with them. */

const grouped = `\\d{1,3}(?:,\\d{3})+|\\d{1,3}(?:[ _'’\u00a0\u2009\u202f]\\d{3})+|\\d+`
const european = `\\d{1,3}(?:\\.\\d{3})+,\\d{1,2}|\\d{1,3}(?:\\.\\d{3}){2,}`
export const plainNumber = `(?:${european}|(?:${grouped})(?:\\.\\d+)?|\\.\\d+)`

/** The value of a number with separators of thousands or a decimal comma. null: it has none. */
export function fractionOf(digits: string, exponent = '0'): Fraction | null {
  const isEuropean = /^\d{1,3}(?:\.\d{3})+,\d{1,2}$|^\d{1,3}(?:\.\d{3}){2,}$/.test(digits)
  const plain = (isEuropean ? digits.replaceAll('.', '').replace(',', '.') : digits).replace(
    /[, _'’\u00a0\u2009\u202f]/g,
    '',
  )
  return readFraction(
    `${plain.startsWith('.') ? `0${plain}` : plain}${exponent === '0' ? '' : `e${exponent}`}`,
  )
}

const operatorWords = /\b(?:plus|minus|times|multiplied\s+by|divided\s+by)\b/gi
const operatorOf = (word: string): string =>
  /^plus/i.test(word) ? '+' : /^minus/i.test(word) ? '-' : /^div/i.test(word) ? '/' : '*'

const arithmeticPiece = new RegExp(`${plainNumber}|[-+*/×÷()]|\\S`, 'gu')

/** The value of a side that only has numbers, operators, brackets, currency and names of things. */
export function arithmetic(side: string): Fraction | null {
  const words = spelledOut(side)
    // 465 : 15
    .replace(/(?<=\d)\s:\s?(?=\d)/g, ' / ')
    .replace(/^.*[:,]\s/, '')
    .replace(operatorWords, (word) => ` ${operatorOf(word)} `)
    .replace(/(\d)\s*[xX]\s*(?=\d)|[·⋅]/g, '$1*')
    .replace(/(\d)\s*(?=\()/g, '$1*')
    .replace(/\p{L}{2,}(?:['’]\p{L}{1,2}(?![\p{L}]))?/gu, ' ')
    .replace(/\*\*|[$€£¥%_"'`.]+(?=\s|$)|[$€£¥°]/g, ' ')
  const tokens: Token<Fraction>[] = []
  for (const { 0: piece } of words.matchAll(arithmeticPiece)) {
    if (/\d/.test(piece)) {
      const value = fractionOf(piece)
      if (value === null) return null
      tokens.push({ value })
    } else if (/^[-+*/()]$/.test(piece)) tokens.push(piece as Token<Fraction>)
    else if (piece === '×') tokens.push('*')
    else if (piece === '÷') tokens.push('/')
    else return null
  }
  return tokens.length > 200 ? null : evaluate(tokens, fractions)
}

/** A calculation behind an answer and what it counts: `142 pens (180 − 38)`, `142, i.e. 180 - 38`. */
const workBehind =
  /^((?:\s?(?:%|°)|\s?\p{L}[\p{L}'’]{0,20}(?![\p{L}'’])){0,6}\s?)(?:[([]\s?([^()[\]]{3,120}(?:\([^()]{1,60}\)[^()[\]]{0,60})?)[)\]]|(?::\s(?=[\d(])|(?:,\s|[–—:]\s|\s-\s)?(?:i\.?e\.?,?|that\s+is,?|namely|from|because|since|as)\s)([^()[\],;]{3,120}$))/iu
/** What a calculation behind an answer begins with. */
const hasWork = /^[^\d]{0,80}?(?:[([:]|\b(?:i\.?e|that\s+is|namely|from|because|since|as)\b)[^\d]{0,40}\d/i
const operator = /[-+*/×÷·⋅−]|\b(?:plus|minus|times|multiplied|divided)\b/i

/**
 * The text after an answer without a calculation that leads to it. null: the calculation goes on from the answer to
 * another value, `142 (142 − 38)`, `142 (+38)`.
 */
export function withoutWork(rest: string, another: Another): string | null {
  if (!hasWork.test(rest)) return rest
  const [all = '', counted = '', bracketed, said] = workBehind.exec(rest) ?? []
  const work = (bracketed ?? said)?.replace(
    /^\s*(?:=|i\.?e\.?,?\s|that\s+is,?\s|because\s|since\s|as\s|from\s)\s*/i,
    '',
  )
  if (work === undefined || !/\d/.test(work) || !operator.test(work)) return rest
  const isOpen = /^(?:[+*/×÷]|[-−]\s|(?:plus|minus|times)\b)/i.test(work)
  if (isOpen) return bracketed === undefined ? rest : null
  const sides = work.split(/[=≈]/)
  const found = sides.map((side) => arithmetic(side))
  const value = found[0] ?? null
  if (value === null) return rest
  if (found.every((side) => side !== null && another(`${side.numerator}/${side.denominator}`) === 'same'))
    return `${counted}${rest.slice(all.length)}`
  // A rate or a share of the answer is no step from it.
  return bracketed !== undefined &&
    sides.length === 1 &&
    /^[-−+]$/.test((/[-−+*/×÷·]/.exec(work) ?? [''])[0]) &&
    another(work) === 'same'
    ? null
    : rest
}
