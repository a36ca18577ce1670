import { numberWords } from '../number-words.ts'

/** Words before an answer that make of it one of several, or the end of a range. */

/** The end of another answer: a number, with its unit of one sign, or a letter. */
const other = String.raw`(?:\d(?:\s?(?:\\?%|°|percent\b|[€£¢]))?|(?<![\p{L}])[A-Z])`
/** A word that puts another answer before this one. */
const listing = new RegExp(
  String.raw`(?:\b(?:or|either|between|and\/or|alternatively|one\s+of|any\s+of|some\s+of|among|amongst|ranging\s+from|anywhere\s+from|oder|ou|或者?|还是|または|или)|${other}\)?\s*(?:[,/|;&]|,?\s+(?:and|o|u|y|e|et|und|en|и|и\/или))|\d(?:\s?\\?%|°)?\)?\s*[-–~]|\bas\s+well\s+as)\s*(?:even\s+|also\s+|possibly\s+|maybe\s+|else\s+)?(?:it\s+is\s+)?$`,
  'iu',
)
/** A number with the words that it counts. */
const quantity = String.raw`(?:\d[\d.,/]*|\b(?:${numberWords.join('|')}))(?:\s?(?:\\?%|°)|\s[^\s\d.,;:!?()=]{1,14}){0,2}`
/** Where a range, or a choice of two quantities, comes to its second one: `between 30 pens and`, `from 30% up to`. */
const spanning = new RegExp(
  String.raw`(?:между\s[^.;:!?=]{1,40}?\sи|介于[^.;:!?=]{1,40}?(?:和|与))\s*$|\b(?:(?:between|betwixt)\s[^.;:!?=]{1,40}?\sand|(?:entre\s[^.;:!?=]{1,40}?\s(?:et|y|e)|zwischen\s[^.;:!?=]{1,40}?\sund|tra\s[^.;:!?=]{1,40}?\se)|(?:either|both)\s(?:[^.;:!?=]{0,20}\s)?${quantity}\s*(?:,\s*)?(?:and|or))\s+(?:(?:at\s+most|up\s+to|maybe|even|about|around)\s+)*$|(?:^|[,:]\s)[\s\W]{0,8}(?:[a-z]+ly\s+)?${quantity}\s*(?:to|through|until|till|[-–—~])\s*(?:(?:at\s+most|up\s+to|maybe|even|about|around)\s+)*$|(?:^|[,:]\s)[\s\W]{0,8}\d[\d.,]*\s[^\s\d.,;:!?()=]{2,14}s\s+and\s*$`,
  'i',
)
/** `from 30% to`; "it rose from 30% to" is no range. */
const fromTo = new RegExp(
  String.raw`\bfrom\s+(?:(?:about|around|some|as\s+low\s+as|at\s+least)\s+)*${quantity}[\s,]+(?:all\s+the\s+way\s+|up\s+|on\s+)?(?:to|through|until|till)\s+(?:(?:about|around|at\s+most)\s+)*$`,
  'i',
)
const moving =
  /\b(?:ris|rose|grow|grew|increas|decreas|chang|drop|fell|fall|reduc|went|go|rais|lower|down|com|shrink|shrank|climb|mov|cut|cuts|decline[ds]?)\w*\b/i
const ranged = /\b(?:rang\w+|anywhere|somewhere|anything|lies|varies)\b/i
/** A range; "it rose from 30 to 42" is none. */
const ranging =
  /(?<!\b(?:ris|rose|grow|grew|increas|decreas|chang|drop|fell|fall|reduc|went|go|rais|lower|up|down|com)\w*\b[^.]{0,60})\d\)?\s(?:to|through|until|till|bis|à|al?|hasta|до|到|至)$/iu
const rangeWord = /(?:to|through|until|till|bis|à|al?|hasta|до|到|至)$/iu
const longestListing = 60

/** Whether the words right before an answer put another one before it. Linear. */
export function isSecond(words: string): boolean {
  const near = words.slice(-longestListing)
  return (
    listing.test(near) ||
    (rangeWord.test(near) && ranging.test(words)) ||
    // What leads to an answer ends without a blank.
    spanning.test(`${words} `) ||
    (fromTo.test(`${words} `) && (ranged.test(words) || !moving.test(words)))
  )
}
