/** Which texts of a question are the policy's response: only these may lose their middle. */

import { shownTurn } from '../../../contract/shown-turn.ts'
import type { Json } from '../../../core/sample/sample.ts'
import type { CallRow } from '../../functions/function-host.ts'

/** The part of a question's value that may be cut, by the value's place among all of them. null: nothing. */
export type Cuttable = (value: string, at: number) => string | null

/**
 * What may be cut of the `values` of a question about some rows: what is a row's response, was taken from it, or holds it. Nothing else
 * of a row is, so that an answer which repeats its question, its reference or a criterion cannot have that cut. `shared`: of a
 * question that is one of several, how many of its values are in what they share; the others ask, and the response is none of them.
 */
export function cuttableIn(rows: readonly CallRow[], values: readonly string[], shared: number): Cuttable {
  const responses = rows.map(({ sample }) => sample.response).filter((text) => text !== '')
  const truths = rows.flatMap(({ sample }) => textsIn([sample.groundTruth, sample.extraInfo]))
  const others = [...truths, ...rows.flatMap(askedTexts)]
  const isOther = (text: string): boolean => others.some((other) => other.includes(text))
  const partOf = (value: string): string | null => {
    if (value === '') return null
    const same = responses.filter((response) => response === value).length
    // Of a response and an equal text of the row, nothing says which is which.
    if (same > 0) return countOf(values, value) > same && isOther(value) ? null : value
    if (isOther(value) || isMadeOf(value, truths)) return null
    if (responses.some((response) => response.includes(value) || isQuotedIn(value, response))) return value
    return responses.find((response) => value.includes(response) && !isOther(response)) ?? null
  }
  return (value, at) => (at < shared ? partOf(value) : null)
}

/** How often a text is among others, whatever white space is around it: a final answer has none. */
const countOf = (values: readonly string[], text: string): number =>
  values.filter((one) => one.trim() === text.trim()).length

/** What the row asks: its prompt with calls and reasoning, its judge's prompt, and what judges said about it. */
function askedTexts({ sample: { prompt, rmPrompt = '' }, earlier }: CallRow): readonly string[] {
  const turns =
    typeof prompt === 'string'
      ? [prompt]
      : prompt.flatMap((turn) => shownTurn(turn, { reasoning: true }).map(({ content }) => content))
  return [...turns, rmPrompt, ...Object.values(earlier).flatMap(({ texts }) => texts)]
}

/** All texts of some values, also of those that a text spells as JSON, and the JSON of each value. */
function textsIn(values: readonly Json[]): readonly string[] {
  const texts: string[] = []
  const add = (value: Json): void => {
    if (typeof value === 'string') {
      texts.push(value)
      if (/^\s*[[{"]/.test(value)) addSpelt(value)
    } else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) add(one)
  }
  const addSpelt = (text: string): void => {
    try {
      add(JSON.parse(text) as Json)
    } catch {
      // It is a text like any other.
    }
  }
  for (const value of values) {
    add(value)
    if (typeof value !== 'string') texts.push(JSON.stringify(value))
  }
  return texts
}

/** Shorter texts stand in many others by chance. */
const shortest = 16
/** Of a row with more texts, the longest are looked for. */
const mostTexts = 256

/** Whether at least half of a value are texts of the row that stand in it: a list of criteria in one text, say. */
function isMadeOf(value: string, texts: readonly string[]): boolean {
  const long = texts.filter((text) => text.length >= shortest && text.length <= value.length)
  const found: string[] = []
  for (const text of long.sort((a, b) => b.length - a.length).slice(0, mostTexts))
    if (value.includes(text) && !found.some((one) => one.includes(text))) found.push(text)
  return found.reduce((sum, { length }) => sum + length, 0) * 2 >= value.length
}

const probe = 64

/** Whether both ends of a value stand in a text as JSON spells them: its escapes are gone if it was taken out of JSON. */
function isQuotedIn(value: string, text: string): boolean {
  const spelt = JSON.stringify(value).slice(1, -1)
  return text.includes(spelt.slice(0, probe)) && text.includes(spelt.slice(-probe))
}
