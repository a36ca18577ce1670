/** Questions for decision models whose words are a row's, such as a criterion: they stand in no fence. */

import type { DecisionAnswers, DecisionQuestion } from '../../../contract/index.ts'
import type { GuardConfig } from '../../models/interface/model-config.ts'
import { neutralised } from './look-alikes.ts'

/** At the start of a line, the letter of an option: `A: no`. */
const atLineStart = /(^|[\n\r\u0085\u2028\u2029])([ \t>*#("'_-]{0,8}[A-Z])(?=[ \t]{0,3}[:：.)\]])/gu
/** Answers have one line each. */
const atWordStart = /(^|\s)([A-Z])(?=[ \t]{0,3}[:：])/gu

/** The question and its answers without anything that a model could mistake for structure. Adds what it broke to `found`. */
export function guardedWords(
  { question, as }: DecisionQuestion,
  guard: GuardConfig,
  found: Set<string>,
): DecisionQuestion {
  const without = (given: string, letter: RegExp): string => {
    const clean = neutralised(given, guard, found)
    if (!guard.tokens) return clean
    const broken = clean.replace(letter, '$1$2·')
    if (broken !== clean) found.add('tokens')
    return broken
  }
  return { question: without(question, atLineStart), as: answers(as, (given) => without(given, atWordStart)) }
}

function answers(as: DecisionAnswers, text: (given: string) => string): DecisionAnswers {
  if ('levels' in as) return { levels: as.levels.map(text) }
  if ('choice' in as)
    return {
      choice: as.choice.map(({ name, description }) => ({
        name: text(name),
        ...(description !== undefined && { description: text(description) }),
      })),
    }
  const { yes, no } = as.yesno
  return {
    yesno: { ...(yes !== undefined && { yes: text(yes) }), ...(no !== undefined && { no: text(no) }) },
  }
}
