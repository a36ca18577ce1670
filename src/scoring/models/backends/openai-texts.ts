import type { Rendered } from '../api/ask.ts'
import { bodyOf, questionJson } from '../api/json-body.ts'
import { type JsonObject, usage } from '../transport/reply.ts'
import type { Settings } from './backend.ts'
import { readItems } from './items.ts'
import { generationOf, readGeneration } from './openai-form.ts'
import type { TextForm } from './text-asks.ts'

/** What servers with OpenAI's two endpoints for texts differ in. */
export interface OpenaiServer {
  readonly model: string
  /** What a request holds beside model and texts: JSON members, each with a comma before it. */
  members(settings: Settings, isChat: boolean): string
  /** Where a list of conversations goes; null: the server has no such endpoint. */
  readonly chatBatchPath: string | null
  /** Throws UpstreamError where the reply is not the model's. */
  checked(body: unknown): JsonObject
}

const isChat = (question: Rendered): boolean => typeof question !== 'string'

/** /v1/chat/completions for conversations, /v1/completions for plain prompts, of which a request may hold a list. */
export function openaiTexts({ model, members, chatBatchPath, checked }: OpenaiServer): TextForm {
  const start = `{"model":${JSON.stringify(model)}`
  return {
    translate(question, settings) {
      const chat = isChat(question)
      const parts = [start, chat ? ',"messages":' : ',"prompt":', ...questionJson(question)]
      return {
        path: chat ? '/v1/chat/completions' : '/v1/completions',
        body: bodyOf([...parts, members(settings, chat), '}']),
      }
    },
    read: (body, question) => readGeneration(checked(body), question),
    kind(question, settings) {
      const chat = isChat(question)
      return chat && chatBatchPath === null ? null : `${chat} ${members(settings, chat)}`
    },
    translateAll(questions, settings) {
      const chat = questions.some(isChat)
      const parts = [start, chat ? ',"messages":[' : ',"prompt":[']
      for (const [at, question] of questions.entries()) {
        if (at > 0) parts.push(',')
        for (const piece of questionJson(question)) parts.push(piece)
      }
      parts.push(']', members(settings, chat), '}')
      return { path: (chat ? chatBatchPath : null) ?? '/v1/completions', body: bodyOf(parts) }
    },
    readAll(value, questions) {
      const body = checked(value)
      return readItems(
        body.choices,
        usage(body),
        questions.map(() => 'one'),
        (choice, at) => generationOf(choice, isChat(questions[at] as Rendered)),
      ) as ReturnType<TextForm['readAll']>
    },
  }
}
