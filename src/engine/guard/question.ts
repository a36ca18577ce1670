/**
 * The guard stands between what an author's rm_preprocess made and what a judge is sent: it renders prompts so that
 * nothing in a sample can change a question's structure, and gives the question its identity.
 */
import { createHash } from 'node:crypto'
import type { AskName, Asks, ChatPrompt, Prompt } from '../../contract/index.ts'
import type { Rendered, RenderedInput } from '../../models/models.ts'
import { fence } from './fence.ts'

/** A question ready for a pool. */
export interface GuardedQuestion {
  readonly input: RenderedInput[AskName]
  /** Of the question before fencing, hex: equal questions have equal keys. */
  readonly key: string
  /** The author's constant beginning; '' where there is none. */
  readonly prefix: string
  /** SHA-256 of the literals, hex. */
  readonly template: string
  /** True where a plain string came in: nothing in it could be fenced. */
  readonly unguarded: boolean
}

type Text = Prompt | ChatPrompt | string

/** Renders one question. `identity` names what else the answer depends on (the function's version). */
export function guardQuestion(
  ask: AskName,
  question: Asks[AskName]['input'],
  secret: string,
  identity: string,
): GuardedQuestion {
  const key = sha256(`${identity}\n${ask}\n${JSON.stringify(question)}`)
  if (ask === 'embed') {
    return { input: question as readonly string[], key, prefix: '', template: '', unguarded: false }
  }
  if (ask === 'choose') {
    const choice = question as Asks['choose']['input']
    const { input, ...rest } = guardText(choice.question, secret, key)
    return { ...rest, input: { question: input, labels: choice.labels } }
  }
  return guardText(question as Text, secret, key)
}

function guardText(text: Text, secret: string, key: string) {
  const prompts = promptsOf(text)
  const literals = prompts.map((prompt) => (typeof prompt === 'string' ? [prompt] : prompt.literals))
  return {
    input: rendered(text, secret),
    key,
    prefix: literals[0]?.[0] ?? '',
    template: typeof text === 'string' ? '' : sha256(JSON.stringify(literals)),
    unguarded: typeof text === 'string',
  }
}

const promptsOf = (text: Text): readonly (Prompt | string)[] =>
  typeof text === 'string'
    ? ['']
    : text.kind === 'prompt'
      ? [text]
      : text.messages.map(({ content }) => content)

function rendered(text: Text, secret: string): Rendered {
  if (typeof text === 'string') return text
  // A single prompt is a user's turn: the judge's own chat template is applied by its server.
  if (text.kind === 'prompt') return [{ role: 'user', content: fence(text, secret) }]
  return text.messages.map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? content : fence(content, secret),
  }))
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
