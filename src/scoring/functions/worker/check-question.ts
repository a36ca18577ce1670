import type { AskName, Asks, ChatPrompt, Choice, Prompt } from '../../../contract/index.ts'
import { isRole } from '../../../contract/prompt.ts'
import { questionFault } from '../../../contract/question-faults.ts'
import type { CallRow } from '../function-host.ts'
import { ContractViolation, nameOf, refusePromise } from './contract-violation.ts'

type Text = Prompt | ChatPrompt | string
type Question = Asks[AskName]['input']

const lengthLimit = 16 * 1024 * 1024

/** A checked copy of what rm_preprocess returned about the rows, in the shape of its ask; throws a ContractViolation. */
export function checkQuestion(ask: AskName, value: unknown, rows: readonly CallRow[] = []): Question {
  const question = copied(ask, value)
  const fault = questionFault(ask, question, rows)
  if (fault) throw new ContractViolation(fault.detail, fault.isOfRow ? 'bad_sample' : null)
  return question
}

function copied(ask: AskName, value: unknown): Question {
  refusePromise(value, 'rm_preprocess')
  const left = { length: lengthLimit }
  if (ask === 'embed') return texts(value, 'texts to embed', left)
  if (ask === 'choose') {
    const { question, labels } = (typeof value === 'object' && value !== null ? value : {}) as Partial<Choice>
    const names = texts(labels, 'labels', left)
    if (names.length < 2 || new Set(names).size < names.length)
      throw wrong('labels that are not two or more, all different')
    return { question: promptText(question, left), labels: names }
  }
  return promptText(value, left)
}

function promptText(value: unknown, left: { length: number }): Text {
  if (typeof value === 'string') return counted(value, left)
  if (typeof value !== 'object' || value === null) throw wrong(nameOf(value))
  const given = value as Partial<Prompt> | Partial<ChatPrompt>
  if (given.kind === 'prompt') {
    const literals = texts(given.literals, 'literals', left)
    const values = texts(given.values, 'values', left, 0)
    if (literals.length !== values.length + 1) throw wrong('a prompt whose literals and values do not match')
    const { mayBeEmpty, steps } = given
    if (mayBeEmpty === undefined && steps === undefined) return { kind: 'prompt', literals, values }
    return {
      kind: 'prompt',
      literals,
      values,
      ...(mayBeEmpty !== undefined && { mayBeEmpty: places(mayBeEmpty) }),
      ...(steps !== undefined && { steps: places([steps])[0] ?? 0 }),
    }
  }
  if (given.kind === 'chat' && Array.isArray(given.messages) && given.messages.length > 0) {
    return {
      kind: 'chat',
      messages: given.messages.map((message: Partial<ChatPrompt['messages'][number]> | null) => {
        const content = promptText(message?.content, left)
        if (typeof message?.role !== 'string' || (typeof content === 'object' && content.kind === 'chat')) {
          throw wrong('a chat whose messages are not of role and content')
        }
        if (!isRole(message.role)) throw wrong('a chat with a role that is no word')
        return { role: message.role, content }
      }),
    }
  }
  throw wrong('an object that is neither a prompt nor a chat')
}

function texts(value: unknown, what: string, left: { length: number }, least = 1): string[] {
  if (!Array.isArray(value) || value.length < least) throw wrong(`${what} that are not an array of strings`)
  const odd = value.find((item) => typeof item !== 'string')
  if (odd !== undefined || value.includes(undefined))
    throw wrong(`${what} that are not an array of strings: one is ${nameOf(odd)}`)
  return value.map((text: string) => counted(text, left))
}

function places(value: unknown): number[] {
  if (!Array.isArray(value) || !value.every(Number.isSafeInteger)) throw wrong('a prompt with a wrong place')
  return [...value]
}

function counted(text: string, left: { length: number }): string {
  left.length -= text.length
  if (left.length < 0)
    throw new ContractViolation(`rm_preprocess asked a question of over ${lengthLimit} characters`)
  return text
}

const wrong = (what: string): ContractViolation => new ContractViolation(`rm_preprocess returned ${what}`)
