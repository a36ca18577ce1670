/**
 * What a step would not see of a sample. Nothing is scored that the reward did not see: a part that is no text fails the
 * step, whichever language its function is written in and however it made its question.
 */
import type { AskName, Asks, ServiceRequest } from '../../contract/index.ts'
import { isService, questionTexts } from '../../contract/question.ts'
import { type Failure, isBlank, type Message, type Part, type Sample } from '../../core/sample/sample.ts'
import type { CallRow } from '../functions/function-host.ts'
import type { PlanStep } from '../plan/plan.ts'

type Step = Pick<PlanStep, 'ask' | 'ignore'>

/**
 * Why a step fails for a sample: it holds a part that the step neither sees nor ignores. null: there is none. Whether a
 * question shows the images is known when it is made: see `imageFailure`.
 */
export function unseenContent({ ask, ignore }: Step, sample: Sample): Failure | null {
  if (isText(sample)) return null
  for (const placed of partsFor(ask, sample)) {
    const type = typeOf(placed.part)
    if (ignore.has(type) || (ask !== null && type === 'image')) continue
    const why =
      ask === null ? 'the rule reads only the text of the response' : 'a judge is shown only texts and images'
    return unseenPart(placed, why)
  }
  return null
}

/** The failure of a step that does not see a part. */
export function unseenPart({ part, place }: PlacedPart, why: string): Failure {
  const type = typeOf(part)
  return {
    kind: 'unseen_content',
    retryable: false,
    detail: `${place} has a part of type ${type}, and ${why}; if the step does not need it, write ignore: [${type}]`,
  }
}

/** Whether the policy's last turn holds more than text, so that an empty text is no empty answer. */
export function answersInParts({ turns }: Sample): boolean {
  const last = turns?.findLast(({ role }) => role === 'assistant')
  return last?.parts?.some(({ type }) => type !== 'text') ?? false
}

/** Flags for the parts of a sample that a step ignores. */
export function ignoredFlags({ ask, ignore }: Step, sample: Sample): readonly string[] {
  if (ignore.size === 0 || isText(sample)) return []
  const found = new Set<string>()
  for (const { part } of partsFor(ask, sample)) {
    const type = typeOf(part)
    if (ignore.has(type)) found.add(`ignored:${type}`)
  }
  return [...found]
}

/** What most samples are. A generator for each step of each of them would cost more than a look. */
const isText = ({ prompt, turns }: Sample): boolean => typeof prompt === 'string' && turns === undefined

interface PlacedPart {
  readonly part: Part
  readonly place: string
}

/** A rule reads the response. What a judge is asked about may depend on all of the sample. */
function* partsFor(ask: AskName | null, { prompt, turns }: Sample): Generator<PlacedPart> {
  if (ask !== null && typeof prompt === 'object') yield* partsIn(prompt, 'prompt')
  if (!turns) return
  if (ask !== null) yield* partsIn(turns, 'response')
  else {
    const last = turns.findLastIndex(({ role }) => role === 'assistant')
    if (last >= 0) yield* partsIn([turns[last] as Message], 'response', last)
  }
}

function* partsIn(messages: readonly Message[], name: string, from = 0): Generator<PlacedPart> {
  for (const [at, { parts = [] }] of messages.entries())
    for (const part of parts) if (part.type !== 'text') yield { part, place: `${name}.${from + at}` }
}

const plainName = /^[a-z][\w.-]{0,59}$/i

/** The type that a step's `ignore` names. A failure quotes it, so it must be a plain word. */
function typeOf(part: Part): string {
  if (part.type !== 'other') return part.type
  return plainName.test(part.name) ? part.name : 'other'
}

/** Texts of a rollout that are looked for in its question. */
const mostLookedFor = 8
/** Searching for a longer text is not linear in the worst case. */
const probe = 64

/**
 * Whether a question leaves out turns of its rows, apart from the response: what tools answered, or what the policy did
 * before. Looks for the first few of them.
 */
export function leavesOutTurns(question: Asks[AskName]['input'], rows: readonly CallRow[]): boolean {
  if (rows.every(({ sample }) => sample.turns === undefined)) return false
  const isShown = isService(question) ? shownIn(question) : shownAmong(question)
  return rows.some(({ sample }) => !earlierTexts(sample).every(isShown))
}

function shownAmong(question: Asks[AskName]['input']): (text: string) => boolean {
  const { trusted, untrusted } = questionTexts(question)
  const texts = [...untrusted, ...trusted]
  return (text) => texts.some((one) => one.includes(text.slice(0, probe)))
}

/** A body may hold a text as JSON, and the arguments of a call as JSON in a text of JSON. */
const shownIn =
  ({ json }: ServiceRequest) =>
  (text: string): boolean => {
    const inText = JSON.stringify(text.slice(0, probe)).slice(1, -1)
    return json.includes(inText) || json.includes(JSON.stringify(inText).slice(1, -1))
  }

function earlierTexts({ turns = [] }: Sample): readonly string[] {
  const last = turns.findLastIndex(({ role }) => role === 'assistant')
  const texts: string[] = []
  for (const [at, { content, toolCalls = [] }] of turns.entries()) {
    if (at !== last && !isBlank(content)) texts.push(content)
    for (const { name, arguments: given } of toolCalls)
      texts.push(typeof given === 'string' ? given || name : JSON.stringify(given))
    if (texts.length >= mostLookedFor) break
  }
  return texts
}
