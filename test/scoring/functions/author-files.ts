/** The source of a rule whose score is this body. */
export const rule = (body: string, more = 'range: [0, 1]') => `import { z } from 'zod'
import { defineRule } from 'reward-gateway/contract'
export default defineRule({ truth: z.unknown(), ${more}, score({ sample, truth, options }) { ${body} } })
`

/** A folder of reward functions as an author writes them: what behaves, and what does not. */
export const authorFiles = {
  'behave.ts': `import { z } from 'zod'
import { BadSample, defineRule, type Row, RuleTimeout } from 'reward-gateway/contract'
import { jsonText } from './shared/words.ts'
const word: string = jsonText
export default defineRule({
  truth: z.unknown(),
  options: z.object({ worth: z.number().default(1) }),
  range: ({ worth }) => [0, worth],
  parts: ['length'],
  score({ sample, options }: Row<unknown, { worth: number }>) {
    if (sample.response === 'hang') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    if (sample.response === 'exit') process.exit(3)
    if (sample.response === 'throw') throw new TypeError('secret ' + sample.response)
    if (sample.response.startsWith('place')) throw new TypeError(sample.response)
    if (sample.response === 'spent') throw new RuleTimeout('secret ' + sample.response)
    if (sample.response === 'unfit') throw new BadSample('extra_info.length is missing')
    if (sample.response === 'change') (sample as { response: string }).response = 'x'
    return { value: sample.response === word ? options.worth : 0, parts: { length: sample.response.length } }
  },
})
`,
  'plain.mjs': rule('return sample.response === truth ? 1 : 0'),
  'huge.js': rule("return { value: 1, details: { text: 'x'.repeat(1e7), many: Array(1e6).fill('y') } }"),
  'strict.ts': `import { z } from 'zod'
import { defineRule } from 'reward-gateway/contract'
export default defineRule({ truth: z.object({ n: z.number() }), range: [0, 1], score: ({ truth }) => truth.n })
`,
  'judge.ts': `import { z } from 'zod'
import { defineModelReward, prompt } from 'reward-gateway/contract'
import 'reward-gateway/grading'
import 'reward-gateway/extract'
export default defineModelReward({
  ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess({ sample: { response } }) {
    return response === '' ? 0 : response === 'odd' ? (undefined as never) : prompt\`Answer: \${response}\`
  },
  rm_postprocess: ({ text }) => (text === '' ? null : Number(text)),
})
`,
  'best-of.ts': `import { z } from 'zod'
import { defineGroupRule } from 'reward-gateway/contract'
export default defineGroupRule({
  truth: z.unknown(), range: [0, 1],
  score(rows) {
    const longest = Math.max(...rows.map(({ sample }) => sample.response.length))
    return rows.map(({ sample }) => sample.response.length === longest ? 1 : null)
  },
})
`,
  'notes.txt': '',
  shared: { 'words.ts': "export const jsonText: string = 'good'\n" },
}
