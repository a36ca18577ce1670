import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import { isDeeperThan } from '../core/json/text.ts'
import type { Message } from '../core/sample/sample.ts'
import { readConversation } from './chat/conversation.ts'
import { NoMessage } from './chat/messages.ts'
import { type ParsedRequest, type TrainerFormat, trainerRoute } from './format.ts'
import { readTaskRow } from './ground-truth.ts'
import { badSample, nativeText, withFlag } from './native.ts'
import { runQuery } from './request-schema.ts'
import { rowSample } from './row-sample.ts'

const said = z.looseObject({ tool_calls: z.array(z.unknown()).nullish() })
const sampleShape = z.looseObject({
  output_text: z.string().nullish(),
  output_json: z.unknown().optional().describe('Read if there is no text.'),
  output_tools: z.array(z.unknown()).nullish().describe('Tool calls of the answer.'),
  choices: z.array(z.looseObject({ message: said.nullish(), finish_reason: z.string().nullish() })).nullish(),
  content: z.string().nullish(),
})
const body = z.object({
  sample: sampleShape,
  item: z.record(z.string(), z.unknown()).default({}).describe('The whole row of the data set.'),
  trace_id: z.string().optional(),
})

type GradedSample = z.output<typeof sampleShape>

/** Azure's `endpoint` grader. Its client waits 10 minutes, tries three times and then discards the rollout. */
export const azure: TrainerFormat = {
  name: 'azure',
  deadlineS: 590,
  routes: {
    '': trainerRoute({
      summary: 'Azure reinforcement fine-tuning: a grader of the type endpoint',
      body,
      query: runQuery,
      invalid: 'number',
      read({ body: { sample, item, trace_id: id = '0' }, literals }) {
        const { messages, prompt } = item
        const asked = nativeText.safeParse(messages ?? prompt ?? '')
        const write: ParsedRequest['write'] = ([answer]) => ({ score: answer?.reward })
        const said = answerOf(sample)
        if ('problem' in said) return { rows: [badSample(id, said.problem)], write }
        const answered = rowSample({
          id,
          prompt: asked.success ? asked.data : '',
          response: said.turns,
          status: sample.choices?.[0]?.finish_reason === 'length' ? 'truncated' : undefined,
          label: readTaskRow(item, 'item', ['messages', 'prompt']),
          literals,
        })
        if (said.flag === null || 'failure' in answered) return { rows: [answered], write }
        return { rows: [withFlag(answered, said.flag)], write }
      },
    }),
  },
}

const maxDepth = 128

const textFields = ['output_text', 'output_json', 'output_tools', 'choices', 'content'] as const

/** The turns of an answer. `flag`: they are not what the policy wrote. */
type Answer =
  | { readonly turns: readonly Message[]; readonly flag: string | null }
  | { readonly problem: string }

/**
 * Returns the answer, or why there is none: a turn of tool calls is one, and its text is empty. Throws RG_REQUEST_INVALID if
 * the sample has none of the known fields.
 */
function answerOf(sample: GradedSample): Answer {
  if (textFields.every((field) => sample[field] === undefined)) {
    const message = `has none of the fields ${textFields.join(', ')}`
    throw new GatewayError('RG_REQUEST_INVALID', `sample: ${message}`, {
      problems: [{ path: 'sample', message }],
    })
  }
  const { output_text, output_json, output_tools, choices, content } = sample
  const message = choices?.[0]?.message
  const given = output_text ?? message?.content ?? content
  const isJson = given == null && output_json != null
  if (isJson && isDeeperThan(output_json, maxDepth))
    return { problem: `sample.output_json: nested deeper than ${maxDepth}` }
  const calls = output_tools?.filter((call) => !isItem(call))
  const said = readTurns([
    {
      ...message,
      role: 'assistant',
      content: isJson ? JSON.stringify(output_json) : given,
      ...(calls && { tool_calls: calls }),
    },
    ...(output_tools ?? []).filter(isItem),
  ])
  if ('problem' in said) return said
  if (isJson) return { ...said, flag: 'output_json' }
  const callsTools = said.turns.length > 1 || said.turns[0]?.toolCalls !== undefined
  return given != null || callsTools ? said : { problem: 'sample: the answer is empty' }
}

/** Whether a call is an item of the Responses API. The calls of the chat API are of the type `function` or `custom`. */
function isItem(call: unknown): boolean {
  const type: unknown = typeof call === 'object' && call !== null && 'type' in call ? call.type : undefined
  return typeof type === 'string' && type !== 'function' && type !== 'custom'
}

function readTurns(list: readonly unknown[]): Answer {
  try {
    return { turns: readConversation(list), flag: null }
  } catch (error) {
    if (!(error instanceof NoMessage)) throw error
    return { problem: `sample: the answer is no message: ${error.path.slice(1).join('.')} ${error.message}` }
  }
}
