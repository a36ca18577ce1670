const beyond = /[^\0-\x7f]/

/** By character code below 128: 1 if the one-character pattern matches. */
export const asciiTable = (pattern: RegExp): Uint8Array =>
  Uint8Array.from({ length: 128 }, (_, code) => Number(pattern.test(String.fromCharCode(code))))

/** Most texts that are not ASCII show it within this many characters. */
const beginning = 256

/**
 * Whether a text is ASCII, as most answers are. In ASCII, searching for one character is many times faster than a
 * pattern.
 */
export const isAscii = (text: string): boolean =>
  !beyond.test(text.slice(0, beginning)) && Buffer.byteLength(text) === text.length

/**
 * Controls, soft hyphen, joiners, direction marks, fillers, variation selectors and other characters that have no
 * visible shape.
 */
const shapeless =
  '\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x84\\x86-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e' +
  '\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb'

/** Any code unit that needs the slow path. */
const suspect = new RegExp(`[${shapeless}\\ud800-\\udfff]`)

/** The suspect ASCII characters. */
const controls = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter((one) =>
  suspect.test(one),
)

/** In shorter texts a pattern is as fast as a search for each control. */
const longText = 512

/** Fits in the L1 cache while it is searched repeatedly. */
const partLength = 8192

function isSuspect(text: string, ascii: boolean): boolean {
  if (text.length < longText || !ascii) return suspect.test(text)
  for (let at = 0; at < text.length; at += partLength) {
    const part = text.slice(at, at + partLength)
    if (controls.some((control) => part.includes(control))) return true
  }
  return false
}

/** The flags of England, Scotland and Wales are the only legitimate use of tag characters. */
const subdivisionFlag = ['gbeng', 'gbsct', 'gbwls']
  .map((tags) => [...tags].map((letter) => `\\u{${(0xe0000 + letter.charCodeAt(0)).toString(16)}}`).join(''))
  .join('|')

/** Longer runs are reported as several, so that one match takes no longer than a slice of work. */
const longestRun = 4096

const runs = new RegExp(
  `\\u{1f3f4}(?:${subdivisionFlag})\\u{e007f}|[${shapeless}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]{1,${longestRun}}|\\p{Cs}`,
  'gu',
)

const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u

/**
 * Makes invisible characters visible: one becomes `⟨U+202E⟩`, a run becomes `⟨12 invisible characters⟩`, a lone
 * surrogate becomes U+FFFD. Those that legitimate emoji and scripts need are kept. Linear. Yields between slices.
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
  // Other calls use the same pattern between two slices, so the position is kept here.
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

/** Code units made visible in one slice of work; a run costs `matchCost` more. */
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

/** Characters that have both a text and an emoji presentation. */
const drawn = /^(?![\0-\x7f])[\p{Emoji}\p{Extended_Pictographic}]$/u
/** The blocks that hold most pictographs. */
const isPicture = (point: number | null): boolean =>
  point !== null && ((point >= 0x2600 && point <= 0x27bf) || (point >= 0x1f300 && point <= 0x1faff))
const keyBase = /^[\d#*]$/
const enclosingKey = 0x20e3
/** Characters with standardised variants: ideographs, their punctuation, mathematical operators, some scripts. */
const varied =
  /^[\p{Script=Han}\p{Sm}0\u3000-\u303f\uff01-\uff1f\p{Script=Myanmar}\p{Script=Phags_Pa}\p{Script=Manichaean}]$/u

/**
 * Variation selectors other than those for emoji. A name needs one or two; one after each character could smuggle a
 * byte each.
 */
const isVariant = (point: number): boolean =>
  (point >= 0xfe00 && point <= 0xfe0d) || (point >= 0xe0100 && point <= 0xe01ef)
const mostVariants = 16

/** Direction marks, embeddings and isolates. */
const directs = new Set([0x200e, 0x200f, 0x61c, 0x202a, 0x202b, 0x202c, 0x2066, 0x2067, 0x2068, 0x2069])

/**
 * Whether the character's neighbours need it: joiners in emoji and joining scripts, direction marks in right-to-left
 * text.
 */
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
  // Overrides have no legitimate use; other direction marks do, in right-to-left text.
  if (point === 0x202d || point === 0x202e) return false
  return isRightToLeft && directs.has(point)
}
