import { z } from 'zod'
import { GatewayError } from '../core/errors.ts'
import { mapInSlices } from '../core/slices.ts'
import { separate } from './chat/separate.ts'
import { type Wire, wireRoute } from './format.ts'
import { lacksTruth, readLabel } from './ground-truth.ts'
import { metricsOf } from './native-result.ts'
import { badSample, odditiesByRow } from './native-sample.ts'
import { isFilled, runQuery, templateQuery, textList } from './request-schema.ts'
import { wireSample } from './row-sample.ts'

const body = z.object({
  query: textList
    .refine(isFilled, 'holds nothing')
    .describe('Prompt and response in one text, with special tokens.'),
  prompts: textList.nullish(),
  labels: z.array(z.unknown()).nullish().describe('The ground truth, or a JSON object that carries more.'),
})

const route = wireRoute({
  summary: 'OpenRLHF: --reward.remote_url',
  body,
  query: runQuery.extend(templateQuery.shape),
  invalid: 'number',
  // Each of extra_logs becomes a tensor, which null cannot.
  writesNaN: true,
  rows: ['query', 'prompts', 'labels'],
  async read({ query, prompts, labels }, { oddities, truths, maxRowValues, query: { template } }) {
    for (const [name, list] of Object.entries({ prompts, labels })) {
      if (list && list.length !== query.length) {
        const message = `${list.length} entries beside ${query.length} of query`
        throw new GatewayError('RG_REQUEST_INVALID', `${name}: ${message}`, {
          problems: [{ path: name, message }],
        })
      }
    }
    const byRow = odditiesByRow(oddities)
    const rows = await mapInSlices(query, (text, index) => {
      const id = String(index)
      const label = readLabel(labels?.[index], maxRowValues)
      const prompt = prompts?.[index]
      const parts = separate(text, { prompt, template, truths: lacksTruth(label) ? truths : null })
      if ('problem' in parts) return badSample(id, `query[${index}]: ${parts.problem}`)
      return wireSample({ id, ...parts, label, oddities: byRow.get(index) ?? [], truths })
    })
    return {
      rows,
      write(answers) {
        const logs = new Map<string, number[]>()
        for (const { outcome } of answers)
          for (const [name, value] of Object.entries({
            ...metricsOf(outcome),
            invalid: outcome.valid ? 0 : 1,
          })) {
            const known = logs.get(name)
            if (known) known.push(value ?? Number.NaN)
            else logs.set(name, [value ?? Number.NaN])
          }
        return { rewards: answers.map(({ reward }) => reward), extra_logs: Object.fromEntries(logs) }
      },
    }
  },
})

/** OpenRLHF: one sample a request, lists of one; a client gives up after 180 s and five tries, 4xx included. */
export const openrlhf: Wire = {
  name: 'openrlhf',
  deadlineS: 170,
  looksUp: true,
  routes: { '': route, '/get_reward': route },
}
