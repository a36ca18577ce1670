import { namesAsked } from './asked-unit.ts'
import { nameOf } from './known-words.ts'
import { unitAt } from './units.ts'

/**
 * What follows a number about other things than those that are asked for: `11 quarters (and 12 dimes)`. Such a remark
 * gives no second answer. What offers one has no noun of its own, or the answer's, or a word that offers.
 */

const bracket = /^([^()[\]\n.!?;]{0,60}?)\s?[*_]{0,2}[([]([^()[\]\n]{3,200})[)\]][*_]{0,2}/
const clause =
  /^((?:[\s*_]{0,4}\p{L}+(?!\p{L})){1,3})[*_]{0,2},?\s(?:and|plus|with|while|whereas|leaving|which\s+leaves|y|und|et|e)\s([^.!?;\n]{3,120})(?=[.!?;]?\s*(?:$|\n|[.!?;]\s))/iu
/** How far another value is from the number: `, $8.60 less than the list price`. */
const compared =
  /,\s(?:which\s+is\s+|that\s+is\s+|i\.e\.\s)?[$€£]?\d[\d.,]*\d?%?\s(?:\p{L}+\s)?(?:less|more|fewer|cheaper|longer|shorter|higher|lower|larger|smaller)\s+than\b[^.;\n]{0,100}/iu
/** What is done with things of the question in so much: ` days she has read 320 pages`. */
const further =
  /^((?:\s\p{L}+){1,2}?)((?:\s(?!(?:and|or|to|plus|y|o|u|e|et|ou|und|oder|bis|à|a|hasta)\s)\p{L}+){1,6}?\s)(\d[\d.,]*)\s(\p{L}{3,})/u
const offering =
  /\b(?:or|maybe|perhaps|possibly|probably|alternatively|either|actually|no|not|never|wait|sorry|correct\w*|should|mean[ts]?|rather|but|instead|if|unless|answers?|results?|right|true|truth|real|wrong|guess\w*|also|too|another|again|oder|vielleicht|ou|peut-être|o|u|quizás?)\b|[?≠<>]/i
const number = /(?<![\p{L}\d.,])[$€£]?\d[\d.,]*/gu
const calculated = /[-+*/×÷·=−]\s?\(?[$€£]?$/
const operated = /^\s?(?:%|\p{L}+\s)?[-+*/×÷·=−]/u
const noun = /^\s(?:(?:other|remaining|more|full|whole|extra|new|such)\s)?(\p{L}{3,})/u
const noNoun =
  /^(?:and|are|was|were|is|has|have|had|will|would|more|less|fewer|too|also|for|per|from|out|the|that|this|than|then|with|left|total|times|each|again|instead|which|who)$/i

/** Whether a remark offers another answer, or takes one back. */
export const isOffer = (remark: string): boolean => offering.test(remark)

const reach = 300

/** The text behind a number without a remark on other things. Linear. */
export function withoutOtherThings(whole: string, question: string): string {
  const start = whole.slice(0, reach)
  const rest = start.includes(' than ') ? start.replace(compared, '') + whole.slice(reach) : whole
  if (!/[([]|\s(?:and|plus|with|while|whereas|leaving|y|und|et|e)\s|\s\d/.test(rest.slice(0, 120)))
    return rest
  const asked = question === '' ? new Set<string>() : namesAsked(question)
  const near = rest.slice(0, reach)
  const [remark = '', before = '', inner = ''] = bracket.exec(near) ?? []
  if (remark !== '' && tellsOfOthers(inner, before, asked)) return `${before}${rest.slice(remark.length)}`
  const [told = '', things = '', between = '', count = '', thing = ''] = further.exec(near) ?? []
  const isElse =
    told !== '' &&
    question.includes(count) &&
    !asked.has(nameOf(thing.toLowerCase())) &&
    !offering.test(between)
  if (isElse && wordsOf(things).some((word) => asked.has(word)))
    return `${things}${between}${rest.slice(told.length)}`
  const [all = '', counted = '', other = ''] = clause.exec(near) ?? []
  const isAsked = wordsOf(counted).some((word) => asked.has(word))
  return isAsked && tellsOfOthers(other, counted, asked) ? `${counted}${rest.slice(all.length)}` : rest
}

const rest =
  /^\s*(?:(?:so|and|since|because|where|with)\s+)?(?:the\s+)?(?:others?|rest|remaining)(?!\s+(?:answers?|possib\w*|values?|options?|solutions?|results?)\b)\b/i

function tellsOfOthers(text: string, counted: string, asked: ReadonlySet<string>): boolean {
  if (offering.test(text)) return false
  if (rest.test(text)) return true
  const own = new Set([...wordsOf(counted), ...asked])
  const ownUnits = unitAt(counted).units
  let others = 0
  for (const { index, 0: written } of text.matchAll(number)) {
    const after = text.slice(index + written.length)
    if (calculated.test(text.slice(Math.max(0, index - 4), index)) || operated.test(after)) continue
    const { units } = unitAt(after)
    // The same in another unit would be gone, if it were right.
    if (units.length > 0 && ownUnits.length > 0) {
      if (units.some(({ base }) => ownUnits.some((one) => one.base === base))) return false
      others++
      continue
    }
    const [, thing = ''] = noun.exec(after) ?? []
    if (thing === '' || noNoun.test(thing) || own.has(nameOf(thing.toLowerCase()))) return false
    others++
  }
  return others > 0
}

const wordsOf = (text: string): string[] => (text.toLowerCase().match(/\p{L}{2,}/gu) ?? []).map(nameOf)
