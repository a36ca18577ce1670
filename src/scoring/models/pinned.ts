import type { AskName, Asks } from '../../contract/index.ts'
import type { AskRequest } from './api/ask.ts'
import type { ModelConfig } from './api/model-config.ts'
import type { Settings } from './backends/backend.ts'
import { askError } from './dispatch/ask-error.ts'
import { call } from './dispatch/call.ts'
import type { Dispatched } from './dispatch/dispatch.ts'
import { SingleFlight } from './dispatch/single-flight.ts'
import type { ModelParts } from './model-parts.ts'
import { buildRequest } from './question-work.ts'
import { UpstreamError } from './transport/upstream-error.ts'

type AnyAnswer = Asks[AskName]['answer']

/** Asks one instance, once, whatever its state but asleep or gone. Rejects with AskError. */
export async function askPinned(
  model: { readonly config: ModelConfig; readonly parts: ModelParts },
  request: AskRequest,
  settings: Settings,
  address: string,
): Promise<Dispatched<AnyAnswer>> {
  const { dispatcher } = model.parts
  const { clock, pool } = dispatcher
  const { ask, input, prefix, deadline, signal } = request
  try {
    const member = pool.members.find((one) => one.address === address)
    if (!member || member.asleep || member.draining)
      throw new UpstreamError('judge_unreachable', 'the instance takes no questions')
    if (ask === 'choose' && model.config.choose.endpoint === 'generative_scoring')
      throw new UpstreamError(
        'judge_rejected',
        'labels scored by /generative_scoring cannot be asked of one instance',
      )
    const flight = new SingleFlight(
      async (stop) => {
        const work = buildRequest(model.parts, { ask, input, settings, prefix, request: signal, deadline })
        const { seat } = model.parts
        if (!seat.borrow()) throw new UpstreamError('judge_unreachable', 'the instance takes no questions')
        try {
          member.begin(work.load)
          const reading = await call(dispatcher, member, work, stop)
          return { ...reading, instance: address, attempts: 1 }
        } finally {
          seat.giveBack()
        }
      },
      () => {},
    )
    return await flight.join(
      clock,
      deadline,
      signal,
      () => new UpstreamError('deadline', 'no answer in time'),
    )
  } catch (error) {
    throw askError(error)
  }
}
