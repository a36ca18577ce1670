import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import { mapInSlices } from '../core/slices.ts'
import { separate } from './chat/separate.ts'
import { type TrainerFormat, trainerRoute } from './format.ts'
import { hasGroundTruth, readLabel } from './ground-truth.ts'
import { badSample, literalsByRow } from './native.ts'
import { metricsOf } from './native-result.ts'
import { isFilled, runQuery, templateQuery, textList } from './request-schema.ts'
import { rowSample } from './row-sample.ts'

const body = z.object({
  query: textList
    .refine(isFilled, 'is empty; give at least one')
    .describe('Prompt and response in one text, with special tokens.'),
  prompts: textList.nullish(),
  labels: z
    .array(z.unknown())
    .nullish()
    .describe('The ground truth, or a JSON object with it and other fields.'),
})

const route = trainerRoute({
  summary: 'OpenRLHF: --reward.remote_url',
  body,
  query: runQuery.extend(templateQuery.shape),
  invalid: 'number',
  // The client makes a tensor of each list in extra_logs, which cannot hold null.
  writesNaN: true,
  rows: ['query', 'prompts', 'labels'],
  async read({
    body: { query, prompts, labels },
    literals,
    groundTruths,
    maxRowValues,
    query: { template },
  }) {
    for (const [name, list] of Object.entries({ prompts, labels })) {
      if (list && list.length !== query.length) {
        const message = `has ${list.length} entries, but query has ${query.length}`
        throw new GatewayError('RG_REQUEST_INVALID', `${name}: ${message}`, {
          problems: [{ path: name, message }],
        })
      }
    }
    const byRow = literalsByRow(literals)
    const rows = await mapInSlices(query, (text, index) => {
      const id = String(index)
      const label = readLabel(labels?.[index], maxRowValues)
      const prompt = prompts?.[index]
      const parts = separate(text, {
        prompt,
        template,
        groundTruths: hasGroundTruth(label) ? null : groundTruths,
      })
      if ('problem' in parts) return badSample(id, `query[${index}]: ${parts.problem}`)
      return rowSample({ id, ...parts, label, literals: byRow.get(index) ?? [], groundTruths })
    })
    return {
      rows,
      write(answers) {
        const logs = new Map<string, number[]>()
        for (const { outcome } of answers) {
          const metrics = { ...metricsOf(outcome), invalid: outcome.valid ? 0 : 1 }
          for (const [name, value] of Object.entries(metrics)) {
            const values = logs.get(name) ?? []
            logs.set(name, values)
            values.push(value ?? Number.NaN)
          }
        }
        return { rewards: answers.map(({ reward }) => reward), extra_logs: Object.fromEntries(logs) }
      },
    }
  },
})

/** OpenRLHF sends lists of one sample. Its client waits 180 s and gives up after five tries, also on a 4xx. */
export const openrlhf: TrainerFormat = {
  name: 'openrlhf',
  deadlineS: 170,
  looksUp: true,
  routes: { '': route, '/get_reward': route },
}
