/** What the texts of rows hold: answers without content, echoes, thoughts, and questions that quote them as plain strings. */

import { decisionTexts } from '../../../contract/decision.ts'
import {
  type AskName,
  type Asks,
  type ChatPrompt,
  type Decision,
  finalAnswer,
  type Generation,
  lastUserText,
  type Prompt,
  type Thinking,
} from '../../../contract/index.ts'
import { isDecision, isService, untrustedTexts } from '../../../contract/question.ts'
import type { Json, Sample } from '../../../core/sample/sample.ts'
import { afterThink } from '../../../grading/tags.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { fullGuard } from '../../models/interface/model-config.ts'
import { neutralised } from './look-alikes.ts'

/** Longer answers are never treated as an opener; only their lack of content is checked. */
const longest = 240

/** Wrappers that carry no content of their own. */
const wrapping = /<\/?[A-Za-z][A-Za-z_]{0,19}>|\\boxed|\\text/g

/** Openers: whole answers that only announce an answer (arXiv 2507.08794 and others). */
const opener = new RegExp(
  `^(?:${[
    '(?:my )?thought(?:s| process)?',
    "(?:ok(?:ay)?,? )?let(?:'|’)?s (?:solve|work through|think about|break down|tackle) (?:this|the|it)(?: problem| question)?(?: (?:step by step|out))?",
    "let(?:'|’)?s think(?: step by step)?",
    '(?:step[- ]by[- ]step )?(?:solution|explanation|reasoning|analysis)',
    '(?:the |my )?(?:final |correct )?answer(?: is)?',
    'step 1',
    'to solve (?:this|the) (?:problem|question)(?:, we (?:need|have) to (?:find|compute|calculate|determine)[^\\n.]{0,120})?',
    '解(?:答|决|析)?|答案?(?:是|为)?|思考过程|让我们一步一步(?:地)?(?:解决|思考)(?:这个问题)?',
    'かいせつ|解説|答え(?:は)?|respuesta|la respuesta es|antwort|réponse|ответ|решение|풀이|정답',
  ].join('|')})$`,
  'iu',
)

const ends = /^[\s:：.。…!！*_#`>-]+|[\s:：.。…!！*_#`>-]+$/g

/** Letters, digits, pictographs, mathematical and currency symbols. ASCII symbols such as `=` and `$` do not count. */
const content = /[\p{L}\p{N}\p{Extended_Pictographic}]|(?![+<=>|~$])[\p{Sm}\p{Sc}]/u

/**
 * True if an answer is empty, only symbols, or only announces an answer. Any letter or digit is content, unless the
 * whole text is an opener.
 */
export function isNoAnswer(text: string): boolean {
  if (text.length > longest) return !content.test(text)
  const bare = text.replace(wrapping, ' ')
  if (!content.test(bare)) return true
  return opener.test(bare.replace(ends, '').replace(/\s+/g, ' '))
}

/** The answer that a judge's question shows: with `thinking`, what follows the thinking. */
export const shownAnswer = (sample: Sample, thinking: Thinking | undefined): string =>
  thinking === undefined ? sample.response : finalAnswer(sample, thinking).text

/**
 * The flags of an answer without content, which no judge needs to see; null: it has content, or a non-blank ground truth
 * has none either.
 */
export function refusal(sample: Sample, thinking: Thinking | undefined): readonly string[] | null {
  if (!isNoAnswer(shownAnswer(sample, thinking))) return null
  if (textsOf(sample.groundTruth).some((text) => text.trim() !== '' && isNoAnswer(text))) return null
  const isThought = thinking !== undefined && !isNoAnswer(sample.response)
  return isThought ? ['refused', 'no_final_answer'] : ['refused']
}

/** The strings in a ground truth: itself, the items of a list, the values of an object and of its lists. */
function textsOf(truth: Json): readonly string[] {
  if (typeof truth === 'string') return [truth]
  if (truth === null || typeof truth !== 'object') return []
  return Object.values(truth).flatMap((item: Json) =>
    typeof item === 'string'
      ? [item]
      : Array.isArray(item)
        ? item.filter((one) => typeof one === 'string')
        : [],
  )
}

/** Shorter texts occur in many answers for legitimate reasons. */
const shortestPrompt = 24
const shortestReference = 64
/** Searching for a longer text is not linear in the worst case. */
const probe = 64

/**
 * Flags for people and monitors; neither changes a score. `prompt_echo`: the verbatim prompt makes up at least half of
 * the answer. `reference_leak`: the answer contains the whole of a long reference text verbatim.
 */
export function echoesOf(sample: Sample): readonly string[] {
  const { response, groundTruth } = sample
  const found: string[] = []
  const prompt = lastUserText(sample).trim()
  if (
    prompt.length >= shortestPrompt &&
    prompt.length * 2 >= response.trim().length &&
    holds(response, prompt)
  )
    found.push('prompt_echo')
  if (typeof groundTruth !== 'string') return found
  const reference = groundTruth.trim()
  if (reference.length >= shortestReference && response.trim() !== reference && holds(response, reference))
    found.push('reference_leak')
  return found
}

/**
 * Whether `text` contains `part`. Only the first occurrence of the beginning of `part` is compared, which keeps the
 * cost linear.
 */
function holds(text: string, part: string): boolean {
  const at = text.indexOf(part.slice(0, probe))
  return at >= 0 && text.startsWith(part, at)
}

/** What a judge said after its last `</think>`. Null if its reasoning never ended, so it gave no verdict. */
export function withoutThoughts(answer: Generation): Generation | null {
  const text = afterThink(answer.text)
  if (text === null) return null
  return text.length === answer.text.length ? answer : { ...answer, text }
}

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
    .flatMap(textsOfRow)
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
  const texts = rows.flatMap(textsOfRow).filter((one) => one.trim() !== '')
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
const textsOfRow = ({ sample, earlier }: OwnRows[number]): readonly string[] => [
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
