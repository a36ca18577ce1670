import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import { runQuery } from './chat/query.ts'
import { messageOf, nativeText } from './native-sample.ts'
import { readTaskRow } from './task-row.ts'
import { type Wire, wireRoute } from './wire.ts'
import { wireSample } from './wire-sample.ts'

const said = z.looseObject({ content: nativeText.nullish() })
const body = z.object({
  sample: z.looseObject({
    output_text: z.string().nullish(),
    choices: z.array(z.looseObject({ message: said.optional() })).optional(),
    content: z.string().nullish(),
  }),
  item: z.record(z.string(), z.unknown()).default({}).describe("The data set's whole row."),
  trace_id: z.string().optional(),
})

/** Azure's `endpoint` grader: waits 10 minutes, tries three times, then discards the rollout. */
export const azure: Wire = {
  name: 'azure',
  deadlineS: 590,
  routes: {
    '': wireRoute({
      summary: 'Azure reinforcement fine-tuning: a grader of the type endpoint',
      body,
      query: runQuery,
      invalid: 'number',
      read({ sample, item, trace_id: id = '0' }, { oddities }) {
        const { messages, prompt, ...row } = item
        const asked = nativeText.safeParse(messages ?? prompt ?? '')
        const answered = wireSample({
          id,
          prompt: !asked.success
            ? ''
            : typeof asked.data === 'string'
              ? asked.data
              : asked.data.map(messageOf),
          response: responseOf(sample),
          label: readTaskRow(row, 'item'),
          oddities,
        })
        return { rows: [answered], write: ([answer]) => ({ score: answer?.reward }) }
      },
    }),
  },
}

function responseOf({ output_text, choices, content }: z.output<typeof body>['sample']): string {
  const text = output_text ?? choices?.[0]?.message?.content ?? content
  if (typeof text === 'string') return text
  if (text == null) {
    const message = 'holds no output_text, choices[0].message.content or content'
    throw new GatewayError('RG_REQUEST_INVALID', `sample: ${message}`, {
      problems: [{ path: 'sample', message }],
    })
  }
  return text.map((one) => messageOf(one).content).join('\n')
}
