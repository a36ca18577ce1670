import { type Call, readTexts } from '../call.ts'
import { readMessages, renderChat } from '../conversation.ts'
import type { Admitted } from '../model.ts'
import { badRequest } from '../refusal.ts'

/** The prompts of a pooling request: `messages` (one conversation) or `input` (a text or a list of texts). */
export function pooledPrompts({ body }: Call): string[] {
  if (body.messages === undefined) return readTexts(body.input, 'input')
  const turns = readMessages(body.messages)
  if (!turns) throw badRequest('messages must be a list of turns', 'messages')
  return [renderChat(turns, body.add_generation_prompt === true)]
}

/** Runs one pass for each prompt; throws Gone when nobody waits any more. */
export async function pass(call: Call, prompts: readonly string[]): Promise<Admitted[]> {
  const admitted = prompts.map((prompt) => call.model.admit(prompt))
  await Promise.all(
    admitted.map((one) => call.model.run(call.model.sequenceMs(one, 0, call.slowdown), call.signal, 'stop')),
  )
  return admitted
}
