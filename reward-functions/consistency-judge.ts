import { z } from 'zod'
import { defineModelReward, fill, mode, type Prompt, type Verdict } from '../src/contract/index.ts'
import {
  publishedMean,
  publishedVerdict,
  readMarks,
  replyOf,
  riderSolutions,
  soleObject,
  solutionMeanings,
} from '../src/grading/rider.ts'
import { afterThink } from '../src/grading/tags.ts'

const thoughtKey = 'Thought与Response一致性'
const solutionKey = 'Response与ResponseSolution一致性'

const template = `请比较下面的思考、回复和方案。
【思考】{Thought}
【回复】{Response}
【方案】{ResponseSolution}
【方案说明】{ResponseSolutionName}

判断两点：
1. 回复是否落实了思考中的意图和动作。措辞不限，不评价业务是否合理。
2. 回复是否说明了方案所指的动作、对象和目的。方案为“无”时视为一致。

先在 <think></think> 中思考，然后只输出：{"Thought与Response一致性": 1/0, "Response与ResponseSolution一致性": 1/0}`

/**
 * Asks a judge whether the thinking, the reply and the solution of a delivery-support agent agree. Pays the
 * mean of its two 0/1 marks, 0 to 1. A response without these three texts pays 0 without a call.
 *
 * Invalid: a judge's reply without both marks. `published` scores such a reply 0, and a response without the
 * three texts is invalid.
 */
export default defineModelReward({
  ask: 'generate',
  truth: z.unknown(),
  options: z.strictObject({
    mode,
    /**
     * Placeholders: `{Thought}`, `{Response}`, `{ResponseSolution}`, `{ResponseSolutionName}`. A row's own
     * `rm_prompt` is ignored.
     */
    template: z.string().default(template),
    /** Each solution is a JSON text `{"name", "describe"}`. */
    catalog: z.array(z.string()).default(() => [...riderSolutions]),
  }),
  range: [0, 1],
  parts: ['thought', 'solution'],
  rm_preprocess({ sample, options: { mode, template, catalog } }) {
    const reply = replyOf(sample.response, mode)
    const [Response, Thought, ResponseSolution] = ['Response', 'Thought', 'ResponseSolution'].map((field) =>
      reply?.get(field),
    )
    if (typeof Response === 'string' && typeof Thought === 'string' && typeof ResponseSolution === 'string') {
      const meanings = { ResponseSolutionName: solutionMeanings(ResponseSolution, catalog, mode) }
      const values = { Response, Thought, ResponseSolution }
      return mode === 'published' ? fillInTurn(template, values, meanings) : fill(template, values, meanings)
    }
    if (mode === 'published') throw new TypeError('the reply lacks a text in one of its fields')
    return 0
  },
  rm_postprocess({ text }, { options: { mode } }) {
    return mode === 'published' ? publishedScore(text) : strictScore(text)
  },
})

/**
 * The published code replaces one field at a time, so it also fills a placeholder inside an inserted text.
 */
function fillInTurn(
  template: string,
  values: Readonly<Record<string, string>>,
  trusted: Readonly<Record<string, string>>,
): Prompt {
  // Even entries come from the author, odd entries from the sample.
  let texts: readonly string[] = [template]
  for (const [name, value] of Object.entries(values)) {
    texts = texts.flatMap((text, i) => {
      const pieces = text.split(`{${name}}`)
      return pieces.flatMap((piece, j) =>
        j === 0 ? [piece] : i % 2 === 0 ? [value, piece] : ['', value, '', piece],
      )
    })
  }
  for (const [name, value] of Object.entries(trusted)) {
    texts = texts.map((text) => text.split(`{${name}}`).join(value))
  }
  return {
    kind: 'prompt',
    literals: texts.filter((_, i) => i % 2 === 0),
    values: texts.filter((_, i) => i % 2 === 1),
  }
}

function publishedScore(text: string): number {
  const verdict = publishedVerdict(text, false)
  return typeof verdict === 'string' ? 0 : publishedMean(verdict)
}

function strictScore(text: string): Verdict {
  const region = afterThink(text)
  const marks = region === null ? null : readMarks(soleObject(region), [thoughtKey, solutionKey])
  const thought = marks?.get(thoughtKey)
  const solution = marks?.get(solutionKey)
  if (thought === undefined || solution === undefined) return null
  return { value: (thought + solution) / 2, parts: { thought, solution } }
}
