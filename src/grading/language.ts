/**
 * Detects the languages of a text. Not in index.ts, because loading the detector's tables takes 0.2 s and
 * about 40 MB.
 */
import { eld } from 'eld/extrasmall'
import { proseInZones } from './language-zones.ts'

/** Code and formulas. `[open, close]`. */
const notProse: readonly (readonly [string, string])[] = [
  ['```', '```'],
  ['`', '`'],
  ['$$', '$$'],
  ['\\[', '\\]'],
  ['\\(', '\\)'],
]
const inline = /\$[^$\n]{1,200}\$|https?:\/\/\S{1,2000}|<\/?[A-Za-z][\w-]{0,63}>|\\[A-Za-z]{1,64}/g
const families: readonly (readonly [string, RegExp])[] = [
  ['latin', /\p{Script=Latin}/u],
  ['east-asian', /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u],
  ['hangul', /\p{Script=Hangul}/u],
  ['cyrillic', /\p{Script=Cyrillic}/u],
  ['arabic', /\p{Script=Arabic}/u],
  ['devanagari', /\p{Script=Devanagari}/u],
]
const unspaced = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}'
const word = new RegExp(`[${unspaced}ー]+|[[\\p{L}\\p{M}'’\\-]--[${unspaced}]]+`, 'gv')
const sentence = /[^.!?。！？\n]+[.!?。！？\n]*/g

/** Pieces with fewer letters are joined with the next one. Longer pieces are split. */
const [shortest, longest] = [40, 400]

/** ISO 639-1 codes that the detector distinguishes. */
export const knownLanguages: ReadonlySet<string> = new Set(Object.values(eld.info().Languages))

export interface Languages {
  /** Share of the letters by ISO 639-1 code. '' is unknown. */
  readonly shares: ReadonlyMap<string, number>
  readonly letters: number
}

/**
 * The ISO 639-1 code of a text's main language. null if it is none of the 60 known languages or the text is
 * too short.
 */
export function languageOf(text: string): string | null {
  const sure = new Map<string, number>()
  let letters = 0
  for (const { text: piece, weight } of pieces(prose(text))) {
    const found = eld.detect(piece)
    letters += weight
    if (found.isReliable()) sure.set(found.language, (sure.get(found.language) ?? 0) + weight)
  }
  const [most] = [...sure].sort(([, a], [, b]) => b - a)
  return most && most[1] > letters / 2 ? most[0] : null
}

/**
 * The languages of a text. A piece too short to classify counts as `expected` if that is plausible. Code, formulas and
 * addresses are in no language, but prose in them counts unless it is in the expected language.
 */
export function languageShares(text: string, expected: string): Languages {
  const counted = new Map<string, number>()
  let letters = 0
  const count = (piece: Piece, isProse: boolean): void => {
    const found = eld.detect(piece.text)
    const scores = found.isReliable() ? {} : found.getScores()
    const likely = (scores[expected] ?? 0) >= doubtful * (scores[found.language] ?? 1)
    const language = likely ? expected : found.language
    if (!isProse && language === expected) return
    counted.set(language, (counted.get(language) ?? 0) + piece.weight)
    letters += piece.weight
  }
  const zones: string[] = []
  for (const piece of pieces(prose(text, zones))) count(piece, true)
  for (const piece of pieces(proseInZones(zones, letters))) count(piece, false)
  return {
    shares: new Map(Array.from(counted, ([language, weight]) => [language, weight / letters])),
    letters,
  }
}

/** An uncertain detection counts for any language whose score is at least this share of the best. */
const doubtful = 0.85

interface Piece {
  readonly text: string
  /**
   * Number of letters. A character of a script without spaces counts twice, because it carries about as much.
   */
  readonly weight: number
}

/** Runs of words in one script, in pieces that are long enough to classify. */
function* pieces(text: string): Generator<Piece> {
  const open = new Map<string, { words: string[]; weight: number }>()
  const taken = (piece: { words: string[]; weight: number }): Piece => ({
    text: piece.words.join(' '),
    weight: piece.weight,
  })
  for (const [part] of text.matchAll(sentence)) {
    for (const [letters] of part.matchAll(word)) {
      const family = families.find(([, script]) => script.test(letters))?.[0] ?? 'other'
      const piece = open.get(family) ?? { words: [], weight: 0 }
      piece.words.push(letters)
      piece.weight += family === 'east-asian' ? 2 * letters.length : letters.length
      open.set(family, piece)
      if (piece.weight < longest) continue
      yield taken(piece)
      open.delete(family)
    }
    for (const [family, piece] of open) {
      if (piece.weight < shortest) continue
      yield taken(piece)
      open.delete(family)
    }
  }
  for (const piece of open.values()) yield taken(piece)
}

/** The text without code, formulas and addresses, which it adds to `zones`. */
function prose(text: string, zones: string[] = []): string {
  let rest = text
  for (const [open, close] of notProse) rest = withoutBetween(rest, open, close, zones)
  return rest.replace(inline, (found) => {
    if (found.startsWith('$') || found.startsWith('h')) zones.push(found)
    return ' '
  })
}

/** Removes the text between marks and adds it to `zones`. An opening mark without its end stays. */
function withoutBetween(text: string, open: string, close: string, zones: string[]): string {
  let rest = ''
  let at = 0
  for (let start = text.indexOf(open); start >= 0; start = text.indexOf(open, at)) {
    const end = text.indexOf(close, start + open.length)
    if (end < 0) break
    rest += `${text.slice(at, start)} `
    zones.push(text.slice(start + open.length, end))
    at = end + close.length
  }
  return rest + text.slice(at)
}
