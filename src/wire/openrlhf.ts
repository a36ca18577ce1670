import { z } from 'zod'
import { GatewayError } from '../errors.ts'
import { badSample } from './bad-sample.ts'
import { runQuery, templateQuery } from './chat/query.ts'
import { separate } from './chat/separate.ts'
import { readLabel } from './label.ts'
import { metricsOf } from './metrics.ts'
import { type Wire, wireRoute } from './wire.ts'
import { wireSample } from './wire-sample.ts'

const body = z.object({
  query: z.array(z.string()).min(1).describe('Prompt and response in one text, with special tokens.'),
  prompts: z.array(z.string()).nullish(),
  labels: z.array(z.unknown()).nullish().describe('The ground truth, or a JSON object that carries more.'),
})

const route = wireRoute({
  summary: 'OpenRLHF: --reward.remote_url',
  body,
  query: runQuery.extend(templateQuery.shape),
  invalid: 'number',
  read({ query, prompts, labels }, { oddities, truths, query: { template } }) {
    for (const [name, list] of Object.entries({ prompts, labels })) {
      if (list && list.length !== query.length) {
        const message = `${list.length} entries beside ${query.length} of query`
        throw new GatewayError('RG_REQUEST_INVALID', `${name}: ${message}`, {
          problems: [{ path: name, message }],
        })
      }
    }
    const rows = query.map((text, index) => {
      const id = String(index)
      const label = readLabel(labels?.[index])
      const prompt = prompts?.[index]
      const parts = separate(text, { prompt, template, truths: label ? null : truths })
      if ('problem' in parts) return badSample(id, `query[${index}]: ${parts.problem}`)
      const own = oddities.filter(({ path }) => path[1] === index)
      return wireSample({ id, ...parts, label, oddities: own, truths })
    })
    return {
      rows,
      write(answers) {
        const logs = answers.map(({ outcome }) => ({
          ...metricsOf(outcome),
          invalid: outcome.valid ? 0 : 1,
        }))
        const keys = Object.keys(logs[0] ?? {}) as (keyof (typeof logs)[0])[]
        return {
          rewards: answers.map(({ reward }) => reward),
          extra_logs: Object.fromEntries(keys.map((key) => [key, logs.map((log) => log[key])])),
        }
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
