import { type Call, readTexts } from '../call.ts'
import { readMessages, renderChat, type Turn } from '../conversation.ts'
import type { Admitted } from '../model.ts'
import { badRequest, Refusal } from '../refusal.ts'

/** The prompts of a pooling request: `messages` (one conversation) or `input` (a text or a list of texts). */
export function pooledPrompts({ body }: Call): Pooled[] {
  if (body.messages === undefined) return readTexts(body.input, 'input').map((text) => ({ text }))
  const turns = readMessages(body.messages)
  if (!turns) throw badRequest('messages must be a list of turns', 'messages')
  return [{ text: renderChat(turns, body.add_generation_prompt === true), turns }]
}

/** A prompt of a pooling request, with the turns that it was rendered from. */
interface Pooled {
  readonly text: string
  readonly turns?: readonly Turn[]
}

/** Runs one pass for each prompt; throws Gone when nobody waits any more. */
export async function pass(call: Call, prompts: readonly Pooled[]): Promise<Admitted[]> {
  const admitted = prompts.map(({ text, turns }) => call.model.admit(text, turns))
  const finished = await Promise.all(
    admitted.map((one) => call.model.run(call, call.model.sequence(one, 0, call.slowdown, 0, 'stop'))),
  )
  if (finished.includes(false)) throw new Refusal(500, 'InternalServerError', 'The request was aborted.')
  return admitted
}
