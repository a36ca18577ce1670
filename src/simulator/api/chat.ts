import { type Call, type Endpoint, type Reply, requireModel } from '../call.ts'
import { type Completion, complete, readSampling, type Sampling } from '../completion.ts'
import { readMessages, renderChat, type Turn } from '../conversation.ts'
import { createdNow, madeId } from '../identity.ts'
import type { Admitted } from '../model.ts'
import { badRequest } from '../refusal.ts'
import { chatLogprobs } from './shown-logprobs.ts'
import { chatChunks } from './stream.ts'
import { usageOf } from './usage.ts'

/** POST /v1/chat/completions. */
export const chatCompletions: Endpoint = async (call) => {
  requireModel(call)
  const turns = readMessages(call.body.messages)
  if (!turns) throw badRequest('messages must be a list of turns', 'messages')
  const sampling = readSampling(call.body, topLogprobs(call))
  const admitted = call.model.admit(rendered(call, turns), turns)
  if (call.body.stream === true) return { events: chatChunks(call, [admitted], sampling) }
  const completions = await answers(call, admitted, sampling)
  return { json: reply(call, [admitted], completions) }
}

/** POST /v1/chat/completions/batch: `messages` is a list of conversations, the reply has one choice for each. */
export const chatCompletionsBatch: Endpoint = async (call): Promise<Reply> => {
  requireModel(call)
  const { messages } = call.body
  const conversations = Array.isArray(messages) ? (messages as readonly unknown[]).map(readMessages) : []
  if (conversations.length === 0 || conversations.includes(null)) {
    throw badRequest('messages must be a list of conversations', 'messages')
  }
  const sampling = readSampling(call.body, topLogprobs(call))
  const admitted = conversations.map((turns) => call.model.admit(rendered(call, turns ?? []), turns ?? []))
  const completions = await Promise.all(admitted.map((one) => answers(call, one, { ...sampling, n: 1 })))
  return { json: reply(call, admitted, completions.flat()) }
}

/** All choices of one prompt; throws Gone when nobody waits for them. */
export function answers(call: Call, admitted: Admitted, sampling: Sampling): Promise<Completion[]> {
  return Promise.all(
    Array.from({ length: sampling.n }, async (_, choice) => {
      const completion = complete(call.model, admitted, sampling, choice)
      const { tokens, finishReason } = completion
      const sequence = call.model.sequence(admitted, choice, call.slowdown, tokens, finishReason)
      const finished = await call.model.run(call, sequence)
      if (!finished)
        return { ...completion, text: '', tokens: 0, finishReason: 'abort' as const, logprobs: null }
      call.model.counters.generationTokens += completion.tokens
      return completion
    }),
  )
}

function rendered({ body }: Call, turns: readonly Turn[]): string {
  return renderChat(turns, body.add_generation_prompt !== false && body.continue_final_message !== true)
}

function topLogprobs({ body }: Call): number | null {
  if (body.logprobs !== true) return null
  return typeof body.top_logprobs === 'number' ? body.top_logprobs : 0
}

function reply({ model }: Call, admitted: readonly Admitted[], completions: readonly Completion[]): object {
  return {
    id: madeId('chatcmpl'),
    object: 'chat.completion',
    created: createdNow(),
    model: model.name,
    choices: completions.map((completion, index) => ({
      index,
      message: {
        role: 'assistant',
        content: completion.text,
        refusal: null,
        annotations: null,
        audio: null,
        function_call: null,
        tool_calls: [],
        reasoning: completion.reasoning,
        reasoning_content: completion.reasoning,
      },
      logprobs: chatLogprobs(completion.logprobs),
      finish_reason: completion.finishReason,
      stop_reason: completion.stopReason,
      token_ids: null,
    })),
    service_tier: null,
    system_fingerprint: null,
    usage: usageOf(admitted, completions),
    prompt_logprobs: null,
    prompt_token_ids: null,
    kv_transfer_params: null,
  }
}
