/**
 * Prose in code, formulas and addresses, where names, keywords and symbols are in no language. Without it, a zone would
 * be a place for text that no measure of languages sees.
 */

const unspaced =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}'
const wordOfOneKind = new RegExp(
  `(\\p{Script=Latin}[\\p{Script=Latin}\\p{M}]*)|([${unspaced}][[${unspaced}]\\p{M}]*)|[\\p{L}--\\p{Script=Latin}--[${unspaced}]][[\\p{L}\\p{M}]--\\p{Script=Latin}--[${unspaced}]]*`,
  'gv',
)
const asciiWord = /([A-Za-z]+)/g
/** Below U+0370 there are only Latin letters. */
const beyondLatin = /[^\0-\u036f]/
const letter = /\p{L}/gu
const word = /[\p{L}\p{M}]+/gu

/** What stands between the words of a sentence, also over lines of a comment. In other scripts it stays on its line. */
const latinGap = /^(?:[,;:.!?]?['’-]|[,;:.!?“”"'’)–—-]*[ \t\n][ \t\n,;:.!?“”"'’(–—#*>/-]*)$/
const otherGap = /^[ \t\d'’,;:.!?،؟。，、！？；：（）()「」《》“”"…–—-]*$/
const longestGap = 12
const comment = /(?:#|\/\/|\/\*|\*|--|%|<!--|;)[ \t]*$/

/** A run of fewer characters (without spaces between words) or words is a name, a label or a text to print. */
const [fewestCharacters, fewestWords] = [5, 3]
/** Up to this share of the letters around them, such short runs are free. */
const freeShare = 0.25

/** Latin words in a row that make a sentence, and the letters from which sentences count. */
const [sentenceWords, fewestLetters] = [5, 40]
/** This share of the words of a sentence are frequent words of a language, or have letters beyond ASCII. */
const frequentShare = 0.2
/** A zone is prose if this share of its Latin letters is in sentences: code has names, too. */
const proseShare = 0.9

/** Frequent words of large languages that are no words of programming languages and shells. */
const frequent = new Set(
  `the of this that we it because each to are was they there be an so you have has will our their
  at what how would should could here these those been your my its us than
  der die das und ist ein eine zu den von mit nicht wir weil es sich auf für dem wird sind auch
  le la les des et est un une pour que qui dans il nous pas sur ce cette sont avec
  el los las es una por se para como del son
  il che di è per non si della sono questo gli os um uma com não dos
  de het een en van niet dat met zijn og er på att som av inte det och`.split(/\s+/),
)
const beyondAscii = /[^\0-\x7f]/

type Kind = 'latin' | 'unspaced' | 'other'

/** Words of one kind of script with nothing but blanks and punctuation between them. */
interface Run {
  readonly kind: Kind
  readonly start: number
  end: number
  words: number
}

/**
 * The prose in zones, one run a line: text in other scripts than Latin unless it is short and rare, comments in such
 * scripts, and zones that hold Latin sentences rather than code. `letters`: those outside of the zones. Linear.
 */
export function proseInZones(zones: readonly string[], letters: number): string {
  const counted: string[] = []
  const short: string[] = []
  const sentences: string[] = []
  let around = letters
  let shortWeight = 0
  const foreign = zones.some((zone) => beyondLatin.test(zone))
  if (!foreign && zones.reduce((sum, { length }) => sum + length, 0) < fewestLetters) return ''
  for (const zone of zones) {
    const text = zone.replace(/\\[A-Za-z]{1,64}/g, '\\')
    let latin = 0
    const long: string[] = []
    for (const { kind, start, end, words } of runsOf(text)) {
      const content = text.slice(start, end)
      const count = lettersIn(content)
      if (kind === 'latin') {
        latin += count
        if (words >= sentenceWords && isSentence(content)) long.push(content)
      } else if (count > 1) {
        const isLong = kind === 'unspaced' ? count >= fewestCharacters : words >= fewestWords
        if (isLong || comment.test(text.slice(Math.max(0, start - 8), start))) counted.push(content)
        else {
          short.push(content)
          shortWeight += kind === 'unspaced' ? 2 * count : count
        }
      }
    }
    around += latin
    if (lettersIn(long.join('')) >= proseShare * latin) sentences.push(...long)
  }
  if (shortWeight > freeShare * around) counted.push(...short)
  const inSentences = lettersIn(sentences.join(''))
  if (inSentences >= fewestLetters && inSentences > freeShare * letters) counted.push(...sentences)
  return counted.join('\n')
}

function* runsOf(zone: string): Generator<Run> {
  let run: Run | undefined
  for (const { 0: word, 1: latin, 2: dense, index } of zone.matchAll(
    beyondAscii.test(zone) ? wordOfOneKind : asciiWord,
  )) {
    const kind = latin === undefined ? (dense === undefined ? 'other' : 'unspaced') : 'latin'
    if (run?.kind === kind && isJoined(zone.slice(run.end, index), kind)) {
      run.end = index + word.length
      run.words++
      continue
    }
    if (run) yield run
    run = { kind, start: index, end: index + word.length, words: 1 }
  }
  if (run) yield run
}

function isSentence(text: string): boolean {
  const words = text.toLowerCase().match(word) ?? []
  const usual = words.filter((one) => frequent.has(one) || (one.length > 1 && beyondAscii.test(one)))
  return usual.length >= frequentShare * words.length
}

const isJoined = (gap: string, kind: Kind): boolean =>
  gap.length <= longestGap && (kind === 'latin' ? latinGap : otherGap).test(gap)

const lettersIn = (text: string): number => text.match(letter)?.length ?? 0
