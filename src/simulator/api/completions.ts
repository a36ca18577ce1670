import { type Call, type Endpoint, readTexts, requireModel } from '../call.ts'
import { type Completion, readSampling } from '../completion.ts'
import { createdNow, madeId } from '../identity.ts'
import { answers } from './chat.ts'
import { textLogprobs } from './shown-logprobs.ts'
import { textChunks } from './stream.ts'
import { usageOf } from './usage.ts'

/** POST /v1/completions: one prompt or a list of them; choices of prompt i start at i * n. */
export const completions: Endpoint = async (call) => {
  requireModel(call)
  const prompts = readTexts(call.body.prompt, 'prompt')
  const sampling = readSampling(call.body, topLogprobs(call))
  const admitted = prompts.map((prompt) => call.model.admit(prompt))
  if (call.body.stream === true) return { events: textChunks(call, admitted, sampling) }
  const all = (await Promise.all(admitted.map((one) => answers(call, one, sampling)))).flat()
  return {
    json: {
      id: madeId('cmpl'),
      object: 'text_completion',
      created: createdNow(),
      model: call.model.name,
      choices: all.map((completion, index) => choiceOf(completion, index)),
      service_tier: null,
      system_fingerprint: null,
      usage: usageOf(admitted, all),
      kv_transfer_params: null,
    },
  }
}

function topLogprobs({ body }: Call): number | null {
  return typeof body.logprobs === 'number' ? body.logprobs : null
}

function choiceOf(completion: Completion, index: number): object {
  return {
    index,
    text: completion.text,
    logprobs: completion.logprobs && textLogprobs(completion.logprobs),
    finish_reason: completion.finishReason,
    stop_reason: completion.stopReason,
    token_ids: null,
    prompt_logprobs: null,
    prompt_token_ids: null,
  }
}
