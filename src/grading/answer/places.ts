import { closingBrace } from '../latex.ts'

/** Where a response may commit to an answer: a box, a `<answer>` tag, a line after `####`, or a sentence. */
const placeKinds = ['boxed', 'hashes', 'tag', 'phrase'] as const
export type PlaceKind = (typeof placeKinds)[number]

/** A place where a response commits to an answer. Offsets are UTF-16 units. */
export interface Place {
  readonly kind: PlaceKind
  /** Where the mark starts, and where all that belongs to the place ends. */
  readonly start: number
  readonly end: number
  /** Where the answer starts. */
  readonly from: number
  /** Whether the place ends where its answer ends, as a box does. A sentence goes on. */
  readonly isClosed: boolean
  readonly text: string
}

const verb = `(?:['’]s(?=\\s)\\s*:?|\\s*\\*{0,2}\\s*(?:is|would\\s+be|must\\s+be|should\\s+be|will\\s+be|has\\s+to\\s+be|comes?\\s+(?:out\\s+)?to|equals|are)\\b\\s*(?:that\\b)?\\s*[:=]?|\\s*["”*]{0,3}\\s*(?:[:=]>?|->|→|⇒))`
const topic = `(?:\\s*\\((?![A-Za-z]\\))[^)\\n]{0,40}\\)|\\s+(?:to|of|for|choice|option)\\b[^.\\n:=?!]{0,100}?)?`
const phrase = new RegExp(
  [
    `(?<![\\p{L}]|\\b(?:intermediate|partial|intuitive|knee-jerk)\\s)(?:final\\s+)?answers?${topic}${verb}`,
    `(?<![\\p{L}])(?:correct|right|best)\\s+(?:answer\\s+)?(?:option|choice|letter|one)(?:\\s+(?:here|for\\s+this\\s+question))?${verb}`,
    `(?:最终)?(?:答案|选项)(?:】|\\s*(?:应该)?(?:是|为|[:：=])+)|(?<![不别勿没非莫])(?:故|因此|所以|应|我)?选(?:择)?[:]?(?=\\s*[(（*]?[A-Za-z])`,
    `(?<![\\p{L}])(?:respuesta|réponse|risposta|resposta)(?:\\s+(?:final|finale|correcta|correcte))?\\s*(?:es|est|è|é|:)(?![\\p{L}])`,
    `उत्तर\\s*(?:है\\s*)?:?(?=[\\s*("“]*[A-Z\\d])|(?:الإجابة|الجواب)\\s*(?:الصحيحة\\s*)?(?:هي|هو|:)|(?<![\\p{L}])(?:antwoord|svaret|odpowied[źz]|cevap|jawaban(?:nya)?)\\s*(?:is|er|är|to|adalah)?\\s*:?(?=[\\s*("“]*[A-Z\\d])`,
    `(?<![\\p{L}])(?:Antwort|Lösung)\\s*(?:lautet(?:\\s+also)?|ist(?:\\s+also)?|:)|ответ\\s*[:—-]?|答えは|正解は|정답은|답은`,
  ].join('|'),
  'giu',
)
const mark = /#{4,}([^\n]*)/g
const boxOpening = /\\(?:boxed|fbox)[ \t]{0,9}\{/g
const tagOpening = /<answer>/gi
const longest = 20_000
/** Earlier places do not count, whatever they say. */
const mostPlaces = 64

/** The places of a text, from left to right. A place inside another belongs to it. Linear. */
export function placesOf(text: string): Place[] {
  const found = [...boxes(text), ...marks(text), ...tags(text)].sort((a, b) => a.start - b.start)
  const places: Place[] = []
  for (const place of found) if (place.start >= (places.at(-1)?.end ?? 0)) places.push(place)
  return [...places, ...phrases(text, places)].sort((a, b) => a.start - b.start)
}

function boxes(text: string): Place[] {
  if (!text.includes('box')) return []
  const found: Place[] = []
  let last = -1
  for (const { index: start, 0: opening } of text.matchAll(boxOpening)) {
    if (start < last) continue
    const from = start + opening.length
    const close = closingBrace(text, from)
    // No box after one that stays open can be closed either.
    if (close < 0)
      return [
        ...found.slice(-mostPlaces),
        { kind: 'boxed', start, end: text.length, from, isClosed: true, text: '' },
      ]
    last = close + 1
    found.push({ kind: 'boxed', start, end: last, from, isClosed: true, text: text.slice(from, close) })
    if (found.length > 2 * mostPlaces) found.splice(0, mostPlaces)
  }
  return found.slice(-mostPlaces)
}

function marks(text: string): Place[] {
  if (!text.includes('####')) return []
  const found: Place[] = []
  for (const { index: start, 0: all, 1: line = '' } of text.matchAll(mark)) {
    // A mark in inline code is quoted.
    if (text[start - 1] === '`') continue
    const from = start + all.length - line.length
    found.push({ kind: 'hashes', start, end: start + all.length, from, isClosed: false, text: line })
    if (found.length > 2 * mostPlaces) found.splice(0, mostPlaces)
  }
  return found.slice(-mostPlaces)
}

function tags(text: string): Place[] {
  if (!text.includes('<')) return []
  const found: Place[] = []
  let last = -1
  for (const { index: start, 0: opening } of text.matchAll(tagOpening)) {
    if (start < last) continue
    const from = start + opening.length
    const close = indexOfClosing(text, from)
    if (close < 0) break
    last = close + '</answer>'.length
    // A tag in running text: "inside <answer> tags: <answer>5</answer>".
    const inner = text.lastIndexOf('<answer>', close)
    const isMention =
      inner > from &&
      !text.slice(from, inner).includes('</answer>') &&
      text.slice(last).indexOf('</answer>') < 0
    const begin = isMention ? inner + opening.length : from
    found.push({
      kind: 'tag',
      start: isMention ? inner : start,
      end: last,
      from: begin,
      isClosed: true,
      text: text.slice(begin, close),
    })
    if (found.length > 2 * mostPlaces) found.splice(0, mostPlaces)
  }
  return found.slice(-mostPlaces)
}

function indexOfClosing(text: string, from: number): number {
  const lower = text.indexOf('</answer>', from)
  return lower >= 0 ? lower : text.indexOf('</ANSWER>', from)
}

/** Sentences that announce an answer outside of `places`, unless a place in the same sentence states it. */
function phrases(text: string, places: readonly Place[]): Place[] {
  const found: Place[] = []
  const offset = Math.max(0, text.length - longest)
  let next = 0
  for (const { index, 0: words } of text.slice(offset).matchAll(phrase)) {
    const start = offset + index
    const from = start + words.length
    while (next < places.length && (places[next]?.end ?? 0) <= start) next++
    const place = places[next]
    if (place && place.start <= start) continue
    const line = lineFrom(text, from)
    const between = place && place.start < from + line.length ? text.slice(from, place.start) : null
    if (between !== null && !/[.!?。]\s/.test(between) && !states.test(between)) continue
    if (confirming.test(line) || inNote.test(text.slice(Math.max(0, start - 40), start))) continue
    found.push({ kind: 'phrase', start, end: from + line.length, from, isClosed: false, text: line })
  }
  const outer: Place[] = []
  for (const place of found.slice(-mostPlaces)) {
    // A second announcement in one line ends the first: "Final answer: The answer is 42."
    const before = outer.at(-1)
    if (before && before.end > place.start) {
      const inner = text.slice(before.from, place.start)
      if (nothingSaid.test(inner)) outer.pop()
      else outer[outer.length - 1] = { ...before, end: place.start, text: inner }
    }
    outer.push(place)
  }
  return outer
}

const nothingSaid = /^[\s*_:]*(?:(?:so|thus|therefore|hence|the|my|our|final|correct)[\s,:]*)*$/i

/** A note says something of an answer, and announces none: `*Note:* the answer is in square units`. */
const inNote =
  /(?:^|\n)[\s*_>(]{0,6}(?:note|remark|hint|tip|p\.\s?s\.)[*_]{0,3}\s?[:：][*_]{0,3}\s(?:that\s)?(?:the\s|our\s|my\s)?$/i

/** `So the answer is correct.` announces nothing. */
const confirming =
  /^\s*(?:\w+ly\s+|indeed\s+|therefore\s+)?(?:correct|right|verified|confirmed|consistent|reasonable)\s*(?:[.!,;]|$)/i

/** A number or a letter alone: an answer of its own before a mark in the same line. */
const states = /^[\s*$:"(]*(?:-?\$?\d[\d.,/]*|[A-Z])[\s*$").,;]*(?:or|and)?\s*$/

/** The rest of the line, or the next line that has text if this one has none. At most 2000 units. */
function lineFrom(text: string, from: number): string {
  const rest = text.slice(from, from + 2000)
  const [lead = ''] = /^[\s*_$:：]*(?:\\\[)?\s*/.exec(rest) ?? []
  const end = rest.indexOf('\n', lead.length)
  return end < 0 ? rest : rest.slice(0, end)
}
