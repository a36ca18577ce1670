/** Finds the texts of rows in questions that were written as plain strings. */

import { decisionTexts } from '../../../contract/decision.ts'
import type { AskName, Asks, ChatPrompt, Decision, Prompt } from '../../../contract/index.ts'
import { isDecision, isService, untrustedTexts } from '../../../contract/question.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { fullGuard } from '../../models/interface/model-config.ts'
import { holds } from './answers.ts'
import { neutralised } from './look-alikes.ts'

type Question = Asks[AskName]['input']

/** The rows that a question is about. */
export type OwnRows = readonly Pick<CallRow, 'sample' | 'earlier'>[]

/** A question, and whether one of its plain strings contains text from its rows. */
interface Told {
  readonly text: Prompt | ChatPrompt | string
  readonly unguarded: boolean
}

/** A question in which each plain string that equals a text of the rows has become a value. */
export function withOwnTexts(question: Question, rows: OwnRows): Question {
  if (isService(question) || isDecision(question)) return question
  if (typeof question === 'object' && !('kind' in question))
    return 'question' in question
      ? { ...question, question: ownTexts(question.question, rows).text }
      : question
  return ownTexts(question, rows).text
}

/**
 * Whether the question or an answer of a decision holds a text of the rows: there it could give orders. A response that names
 * an answer, as many do, is none of that; and whatever the response holds, only texts of the decision's length are looked for.
 */
export function asksInOwnTexts(decision: Decision, rows: OwnRows): boolean {
  const asked = decisionTexts(decision)
  const most = asked.reduce((longest, { length }) => Math.max(longest, length), 0)
  const texts = rows
    .flatMap(textsOf)
    .flatMap((one) => (one.length > 2 * most + shortest ? [] : [one.trim()]))
    .filter(({ length }) => length >= shortest && length <= most)
  return texts.length > 0 && asked.some((own) => texts.some((one) => own.includes(one)))
}

/**
 * A conversation may contain plain strings, which are the author's. One that equals a text of the rows (`content:
 * sample.response`) becomes a value. One that only contains such a text cannot be guarded and is reported.
 */
export function ownTexts(text: Told['text'], rows: OwnRows): Told {
  if (typeof text === 'string') return { text, unguarded: true }
  if (text.kind === 'prompt' || text.messages.every(({ content }) => typeof content !== 'string'))
    return { text, unguarded: false }
  const texts = rows.flatMap(textsOf).filter((one) => one.trim() !== '')
  let unguarded = false
  const messages = text.messages.map(({ role, content }) => {
    if (typeof content !== 'string') return { role, content }
    if (texts.includes(content)) return { role, content: asValue(content) }
    unguarded ||= texts.some((one) => standsIn(content, one))
    return { role, content }
  })
  return { text: { kind: 'chat', messages }, unguarded }
}

const asValue = (content: string): Prompt => ({ kind: 'prompt', literals: ['', ''], values: [content] })

/** Everything the policy wrote or may have written: the prompt's turns, the rollout's, and what judges said about it. */
const textsOf = ({ sample, earlier }: OwnRows[number]): readonly string[] => [
  ...untrustedTexts(sample),
  ...Object.values(earlier).flatMap(({ texts }) => texts),
]

/** Shorter texts occur in many strings by chance. They count only if they contain something to guard. */
const shortest = 8

function standsIn(content: string, text: string): boolean {
  const own = text.trim()
  if (own.length < shortest && neutralised(own, fullGuard, new Set()) === own) return false
  const written = content.trim()
  if (holds(content, own)) return true
  // The content may be a decoded JSON string of the text, so compare it with its escapes too.
  return (
    written.length >= shortest && (holds(own, written) || holds(own, JSON.stringify(written).slice(1, -1)))
  )
}
