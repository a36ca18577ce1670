const reward = (ask: string, body: string, more = '') => `import { z } from 'zod'
import { chat, conversation, defineListReward, defineModelReward, definePairReward, fill, lastUserText, optional, prompt, steps } from 'reward-gateway/contract'
export default defineModelReward({
  ask: '${ask}', truth: z.unknown(), range: [${ask === 'generate' ? '0, 1' : '-100, 100'}], ${more}
  rm_preprocess: ({ sample, earlier }) => ${body},
  rm_postprocess: (answer) => ${ask === 'generate' ? 'Number(answer.text)' : ask === 'rewards' ? 'Math.min(...answer)' : 'answer'},
})
`

const head =
  "import { z } from 'zod'\nimport { defineListReward, definePairReward, fill, prompt } from 'reward-gateway/contract'\n"

/** Questions as authors write them, correct and incorrect, by file name. */
export const questionAuthors = {
  'tag.ts': reward('generate', `prompt\`Question: \${sample.prompt}\\nAnswer: \${sample.response}\``),
  'filled.ts': reward(
    'generate',
    "fill('Q: {question} A: {answer}', { question: sample.prompt, answer: sample.response })",
  ),
  'plain.ts': reward('generate', `\`Question: \${sample.prompt} Answer: \${sample.response}\``),
  'added.ts': reward('generate', "'Question: ' + sample.prompt + sample.response"),
  'joined.ts': reward(
    'generate',
    `prompt\`Question: \${[...sample.prompt].join(' ')} A: \${sample.response}\``,
  ),
  'turn.ts': reward('generate', `\`Question: \${sample.prompt[0]} A: \${sample.response}\``),
  'info.ts': reward('generate', `prompt\`Q: \${sample.extraInfo} A: \${sample.response}\``),
  'missing.ts': reward('generate', `prompt\`Q: \${sample.extraInfo.question} A: \${sample.response}\``),
  'none.ts': reward('generate', `prompt\`Q: \${sample.groundTruth} A: \${sample.response}\``),
  'nan.ts': reward('generate', `prompt\`Q: \${Number.NaN} A: \${sample.response}\``),
  'called.ts': reward('generate', `prompt\`Q: \${() => 1} A: \${sample.response}\``),
  'sign.ts': reward('generate', `prompt\`Q: \${Symbol('x')} A: \${sample.response}\``),
  'nested.ts': reward(
    'generate',
    `prompt\`Q: \${prompt\`\${lastUserText(sample)}\`} A: \${sample.response}\``,
  ),
  'texts.ts': reward('generate', `prompt\`Q: \${earlier.c?.texts ?? ["a", "b"]} A: \${sample.response}\``),
  'fill-info.ts': reward('generate', "fill('{q} {a}', { q: sample.extraInfo, a: sample.response })"),
  'fill-own.ts': reward('generate', "fill('{q} {a}', { a: sample.response }, { q: sample.prompt })"),
  'fill-row.ts': reward('generate', 'fill(sample.extraInfo.template, { a: sample.response })'),
  'chat-list.ts': reward('generate', "chat({ role: 'user', content: sample.prompt })"),
  'chat-none.ts': reward('generate', "chat({ role: 'user', content: null })"),
  'chat-role.ts': reward('generate', `chat({ content: prompt\`\${sample.response}\` })`),
  'chat-spread.ts': reward('generate', 'chat(sample.prompt)'),
  'numbers.ts': reward('generate', `prompt\`\${1} \${true} \${2n} \${sample.prompt} \${sample.response}\``),
  'pair.ts': `${head}export default definePairReward({ ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: (a, b) => prompt\`Q: \${a.sample.extraInfo} A: \${a.sample.response} B: \${b.sample.response}\`,
  rm_postprocess: ({ text }) => Number(text) })
`,
  'list.ts': `${head}export default defineListReward({ ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: (rows) => fill('{q} {a}', { q: rows[0].sample.extraInfo, a: rows.map((row) => row.sample.response).join() }),
  rm_postprocess: ({ text }, rows) => rows.map(() => Number(text)) })
`,
  'critic.ts': `import { z } from 'zod'
import { defineModelReward, prompt } from 'reward-gateway/contract'
export default defineModelReward({ ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => prompt\`Review \${sample.extraInfo} \${sample.response}\` })
`,
  'asks.ts': reward('generate', `prompt\`Q: \${lastUserText(sample)} A: \${sample.response}\``),
  'opted.ts': reward('generate', `prompt\`Hint: \${optional(lastUserText(sample))} A: \${sample.response}\``),
  'hinted.ts': reward(
    'generate',
    `prompt\`Q: \${lastUserText(sample)} Hint: \${sample.extraInfo.hint ?? ''} A: \${sample.response}\``,
  ),
  'field.ts': reward(
    'generate',
    `prompt\`Q: \${sample.extraInfo.question} More: \${sample.extraInfo.more ?? ''} A: \${sample.response}\``,
  ),
  'reference.ts': reward(
    'generate',
    `prompt\`Q: \${lastUserText(sample)} Right: \${sample.groundTruth} A: \${sample.response}\``,
  ),
  'constant.ts': reward('generate', 'prompt`Is this right? Reply 1.`'),
  'templated.ts': reward('generate', "fill(sample.rmPrompt ?? '', { response: sample.response })"),
  'polite.ts': reward('generate', `prompt\`Is it polite? \${sample.response}\``),
  'wordless.ts': reward('generate', `prompt\`\${' '}\\n\``),
  'bare.ts': reward('classify', "chat(...sample.prompt, { role: 'assistant', content: sample.response })"),
  'talk.ts': reward(
    'classify',
    `chat(...conversation(sample), { role: 'assistant', content: prompt\`\${sample.response}\` })`,
  ),
  'speaks.ts': reward(
    'classify',
    "chat({ role: 'user', content: 'q' }, { role: 'assistant', content: 'It says: ' + sample.response })",
  ),
  'parts.ts': reward(
    'classify',
    "chat({ role: 'user', content: 'q' }, { role: 'assistant', content: JSON.parse(sample.response).reply })",
  ),
  'whole.ts': reward('classify', "'It says: ' + sample.response"),
  'vector.ts': reward('embed', '[sample.response, lastUserText(sample)]').replace(
    '=> answer',
    '=> answer.length - 1',
  ),
  'process.ts': reward(
    'rewards',
    `chat({ role: 'user', content: prompt\`\${lastUserText(sample)}\` }, { role: 'assistant', content: steps(sample.response.split('\\n\\n'), '<extra_0>') })`,
  ),
  'process-own.ts': reward(
    'rewards',
    `chat({ role: 'user', content: prompt\`\${lastUserText(sample)}\` }, { role: 'assistant', content: prompt\`\${sample.response.split('\\n\\n').join('<extra_0>')}\` })`,
  ),
  'process-list.ts': reward('rewards', "steps(sample.response, '<extra_0>')"),
}
