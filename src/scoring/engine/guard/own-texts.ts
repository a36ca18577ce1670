import type { AskName, Asks, ChatPrompt, Prompt } from '../../../contract/index.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { fullGuard } from '../../models/api/guard-config.ts'
import { holds } from './echoes.ts'
import { neutralised } from './neutralise.ts'

type Question = Asks[AskName]['input']

/** The rows that a question is about. */
export type OwnRows = readonly Pick<CallRow, 'sample' | 'earlier'>[]

/** A question, and whether text of its rows stands in a plain string of it. */
interface Told {
  readonly text: Prompt | ChatPrompt | string
  readonly unguarded: boolean
}

/** A whole question whose plain strings that are texts of the rows have become values. */
export function withOwnTexts(question: Question, rows: OwnRows): Question {
  if (typeof question === 'object' && !('kind' in question))
    return 'question' in question
      ? { ...question, question: ownTexts(question.question, rows).text }
      : question
  return ownTexts(question, rows).text
}

/**
 * A conversation may have plain strings, the author's own. One that is a text of the rows as it stands (`content:
 * sample.response`) becomes a value; one that only holds such a text cannot be guarded, and is told of.
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

/** What the policy wrote, or may have: its response, the prompt's turns, what judges said of it. */
function textsOf({ sample: { response, prompt }, earlier }: OwnRows[number]): readonly string[] {
  return [
    response,
    ...(typeof prompt === 'string' ? [prompt] : prompt.map(({ content }) => content)),
    ...Object.values(earlier).flatMap(({ texts }) => texts),
  ]
}

/** Shorter texts stand in many strings by chance: they count where there is something in them to guard. */
const shortest = 8

function standsIn(content: string, text: string): boolean {
  const own = text.trim()
  if (own.length < shortest && neutralised(own, fullGuard, new Set()) === own) return false
  const written = content.trim()
  if (holds(content, own)) return true
  // Out of JSON, its escapes are gone.
  return (
    written.length >= shortest && (holds(own, written) || holds(own, JSON.stringify(written).slice(1, -1)))
  )
}
