const beyond = /[^\0-\x7f]/

/** By character code below 128: 1 for what a pattern of one character matches. */
export const asciiTable = (pattern: RegExp): Uint8Array =>
  Uint8Array.from({ length: 128 }, (_, code) => Number(pattern.test(String.fromCharCode(code))))

/** The first characters of most texts that are not ASCII tell. */
const beginning = 256

/** Whether a text is ASCII, as most answers are: a search for one character is many times quicker than a pattern there. */
export const isAscii = (text: string): boolean =>
  !beyond.test(text.slice(0, beginning)) && Buffer.byteLength(text) === text.length

/** Controls, soft hyphen, joiners, marks of direction, fillers, variation selectors and other characters without a shape. */
const shapeless =
  '\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e' +
  '\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb'

/** Any code unit that the slow path must look at. */
const suspect = new RegExp(`[${shapeless}\\ud800-\\udfff]`)

/** What of ASCII is suspect. */
const controls = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter((one) =>
  suspect.test(one),
)

/** Shorter texts cost a pattern as little as a search for each control. */
const longText = 512

/** What a processor's nearest cache holds while it is searched again and again. */
const partLength = 8192

function isSuspect(text: string, ascii: boolean): boolean {
  if (text.length < longText || !ascii) return suspect.test(text)
  for (let at = 0; at < text.length; at += partLength) {
    const part = text.slice(at, at + partLength)
    if (controls.some((control) => part.includes(control))) return true
  }
  return false
}

/** The flags of England, Scotland and Wales are the only ordinary use of tag characters. */
const subdivisionFlag = ['gbeng', 'gbsct', 'gbwls']
  .map((tags) => [...tags].map((letter) => `\\u{${(0xe0000 + letter.charCodeAt(0)).toString(16)}}`).join(''))
  .join('|')

/** A longer run is shown as several: one match takes no longer than a piece of work. */
const longestRun = 4096

const runs = new RegExp(
  `\\u{1f3f4}(?:${subdivisionFlag})\\u{e007f}|[${shapeless}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]{1,${longestRun}}|\\p{Cs}`,
  'gu',
)

const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u

/**
 * Characters that nobody sees are shown as `⟨U+202E⟩`, a run of them as `⟨12 invisible characters⟩`, a lone surrogate as
 * U+FFFD; those that ordinary emoji and scripts need stay. Linear. Yields between its pieces.
 */
export function* withoutInvisible(text: string, ascii = isAscii(text)): Generator<void, string> {
  if (!isSuspect(text, ascii)) return text
  let isRightToLeft: boolean | undefined
  let variants = 0
  const isKept = (point: number, previous: number | null, next: number | null): boolean => {
    if (!isOrdinary(point, previous, next, isRightToLeft === true)) return false
    if (!isVariant(point)) return true
    variants += 1
    return variants <= mostVariants
  }
  const showing = (run: string, at: number): string => {
    if (run.startsWith('\u{1f3f4}')) return run
    if (run >= '\ud800' && run <= '\udfff' && run.length === 1) return '\ufffd'
    isRightToLeft ??= rightToLeft.test(text)
    if (run.length === 1) {
      const [before, after] = [lastPoint(text, at), text.codePointAt(at + 1) ?? null]
      return isKept(run.charCodeAt(0), before, after) ? run : shown(run)
    }
    const points = [...run]
    const before = lastPoint(text, at)
    const after = text.codePointAt(at + run.length) ?? null
    let hidden = 0
    const kept = points.map((point, index) => {
      const previous = index === 0 ? before : (points[index - 1]?.codePointAt(0) ?? null)
      const next = index === points.length - 1 ? after : (points[index + 1]?.codePointAt(0) ?? null)
      if (isKept(point.codePointAt(0) ?? 0, previous, next)) return point
      hidden += 1
      return ''
    })
    if (hidden === 0) return run
    const [only = ''] = hidden === 1 ? points.filter((_, index) => kept[index] === '') : []
    return kept.join('') + (only ? shown(only) : `⟨${hidden} invisible characters⟩`)
  }
  let result = ''
  let copied = 0
  let units = 0
  // Others search with the same pattern between two pieces: the place is ours.
  for (let found = matchFrom(text, 0); found; found = matchFrom(text, copied)) {
    const [run] = found
    result += text.slice(copied, found.index) + showing(run, found.index)
    units += run.length + matchCost
    copied = found.index + run.length
    if (units < unitsAtOnce) continue
    units = 0
    yield
  }
  return result + text.slice(copied)
}

/** Characters that are shown in one piece of the work; a run costs as much as so many of them. */
const unitsAtOnce = 4096
const matchCost = 8

function matchFrom(text: string, at: number): RegExpExecArray | null {
  runs.lastIndex = at
  return runs.exec(text)
}

const shown = (point: string): string =>
  `⟨U+${(point.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`

function lastPoint(text: string, end: number): number | null {
  if (end === 0) return null
  const unit = text.charCodeAt(end - 1)
  const isLow = unit >= 0xdc00 && unit <= 0xdfff
  return text.codePointAt(isLow && end > 1 ? end - 2 : end - 1) ?? null
}

const pictures = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}]$/u
const joining =
  /^[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]$/u
const unspaced = /^[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]$/u
const ideograph = /^\p{Script=Han}$/u
const mongolian = /^\p{Script=Mongolian}$/u
const hangul = /^\p{Script=Hangul}$/u
const letter = /^\p{L}$/u

const is = (pattern: RegExp, point: number | null): boolean =>
  point !== null && pattern.test(String.fromCodePoint(point))

/** What is drawn as a text or as a picture. */
const drawn = /^(?![\0-\x7f])[\p{Emoji}\p{Extended_Pictographic}]$/u
/** The blocks that most pictures are of. */
const isPicture = (point: number | null): boolean =>
  point !== null && ((point >= 0x2600 && point <= 0x27bf) || (point >= 0x1f300 && point <= 0x1faff))
const keyBase = /^[\d#*]$/
const enclosingKey = 0x20e3
/** What has standardised variants: ideographs, their punctuation, mathematical operators, some scripts. */
const varied =
  /^[\p{Script=Han}\p{Sm}0\u3000-\u303f\uff01-\uff1f\p{Script=Myanmar}\p{Script=Phags_Pa}\p{Script=Manichaean}]$/u

/** Selectors of variants other than of emoji. A name needs one or two; one behind each sign could carry a byte. */
const isVariant = (point: number): boolean =>
  (point >= 0xfe00 && point <= 0xfe0d) || (point >= 0xe0100 && point <= 0xe01ef)
const mostVariants = 16

/** Marks, embeddings and isolates of direction. */
const directs = new Set([0x200e, 0x200f, 0x61c, 0x202a, 0x202b, 0x202c, 0x2066, 0x2067, 0x2068, 0x2069])

/** Whether its neighbours need the character: joiners in emoji and joining scripts, marks of direction beside such text. */
function isOrdinary(
  point: number,
  previous: number | null,
  next: number | null,
  isRightToLeft: boolean,
): boolean {
  if (point === 0x200d)
    return ((previous === 0xfe0f || is(pictures, previous)) && is(pictures, next)) || is(joining, previous)
  if (point === 0x200c) return is(joining, previous)
  if (point === 0x200b) return is(unspaced, previous) && is(unspaced, next)
  if (point === 0xfe0e || point === 0xfe0f)
    return isPicture(previous) || is(drawn, previous) || (is(keyBase, previous) && next === enclosingKey)
  if (point >= 0xfe00 && point <= 0xfe0d) return is(varied, previous)
  if (point >= 0xe0100 && point <= 0xe01ef) return is(ideograph, previous)
  if (point === 0xad) return is(letter, previous) && is(letter, next)
  if (point >= 0x180b && point <= 0x180f) return is(mongolian, previous)
  if (point === 0x115f || point === 0x1160) return is(hangul, previous) || is(hangul, next)
  // An override has no ordinary use; the other marks of direction have, beside text that runs from right to left.
  if (point === 0x202d || point === 0x202e) return false
  return isRightToLeft && directs.has(point)
}
