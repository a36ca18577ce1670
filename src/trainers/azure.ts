import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import { isDeeperThan } from '../core/json/text.ts'
import { type ParsedRequest, type TrainerFormat, trainerRoute } from './format.ts'
import { readTaskRow } from './ground-truth.ts'
import { badSample, messageOf, nativeMessage, nativeText } from './native.ts'
import { runQuery } from './request-schema.ts'
import { rowSample } from './row-sample.ts'

const said = z.looseObject({
  content: nativeMessage.shape.content.optional(),
  tool_calls: z.array(z.unknown()).nullish(),
})
const sampleShape = z.looseObject({
  output_text: z.string().nullish(),
  output_json: z.unknown().optional().describe('Read if there is no text.'),
  output_tools: z.array(z.unknown()).nullish().describe('Tool calls. No reward sees them.'),
  choices: z.array(z.looseObject({ message: said.nullish() })).nullish(),
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
          prompt: !asked.success
            ? ''
            : typeof asked.data === 'string'
              ? asked.data
              : asked.data.map(messageOf),
          response: said.response,
          label: readTaskRow(item, 'item', ['messages', 'prompt']),
          literals,
        })
        if (said.flag === null || 'failure' in answered) return { rows: [answered], write }
        return { rows: [{ ...answered, flags: [...(answered.flags ?? []), said.flag] }], write }
      },
    }),
  },
}

const maxDepth = 128

const textFields = ['output_text', 'output_json', 'output_tools', 'choices', 'content'] as const

/**
 * Returns the answer's text, with a flag if the text is not the whole answer, or why there is none: a turn with only tool
 * calls is not an empty answer. Throws RG_REQUEST_INVALID if the sample has none of the known fields.
 */
function answerOf(
  sample: GradedSample,
): { readonly response: string; readonly flag: string | null } | { readonly problem: string } {
  if (textFields.every((field) => sample[field] === undefined)) {
    const message = `has none of the fields ${textFields.join(', ')}`
    throw new GatewayError('RG_REQUEST_INVALID', `sample: ${message}`, {
      problems: [{ path: 'sample', message }],
    })
  }
  const { output_text, output_json, output_tools, choices, content } = sample
  const message = choices?.[0]?.message
  const chosen = message?.content == null ? null : messageOf({ role: '', content: message.content }).content
  const text = output_text ?? chosen ?? content
  const callsTools = (output_tools ?? message?.tool_calls ?? []).length > 0
  if (text != null && (text !== '' || !callsTools))
    return { response: text, flag: callsTools ? 'turns_unseen' : null }
  if (isDeeperThan(output_json, maxDepth))
    return { problem: `sample.output_json: nested deeper than ${maxDepth}` }
  if (output_json != null) return { response: JSON.stringify(output_json), flag: 'output_json' }
  const problem = callsTools ? 'is only tool calls, which no reward sees' : 'is empty'
  return { problem: `sample: the answer ${problem}` }
}
