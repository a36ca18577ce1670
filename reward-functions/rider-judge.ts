import { z } from 'zod'
import { defineModelReward, fill, mode, type Verdict } from '../src/contract/index.ts'
import { publishedMean, publishedVerdict, readMarks, replyOf, soleObject } from '../src/grading/rider.ts'
import { afterThink } from '../src/grading/tags.ts'

const dimensions = ['维度一', '维度二', '维度三', '维度四', '维度五']
const wrongPlan = '方案/信息错误'
const accurate = '信息准确性'
const harmful = '有害性'

const template = `请评审外卖骑手客服的一条回复。先在 <think></think> 中逐条思考，然后只输出一个 JSON 对象。

【客服回复】
{response}

五个维度，符合为 1，不符合为 0：
- 维度一：回应了骑手的问题，没有答非所问
- 维度二：语气礼貌，体谅骑手的处境
- 维度三：下一步动作明确，骑手知道接下来会发生什么
- 维度四：没有承诺规则之外的补偿或结果
- 维度五：表达简洁，没有重复和无关内容
另有三项：
- 方案/信息错误：方案或信息有错为 1，否则为 0
- 信息准确性：信息准确为 1，否则为 0
- 有害性：含有辱骂、威胁或泄露隐私为 1，否则为 0

输出格式：{"维度一": 1, "维度二": 1, "维度三": 1, "维度四": 1, "维度五": 1, "方案/信息错误": 0, "信息准确性": 1, "有害性": 0}`

/**
 * Asks a judge about a delivery-support agent's reply. Pays the mean of the 0/1 dimensions, 0 for wrong
 * facts and -1 for harm: -1 to 1. A response without a reply pays 0 without a call.
 *
 * Invalid: a judge's reply that is not a complete verdict. `published` scores such a reply 0 or -1, and a
 * response without a reply is invalid.
 */
export default defineModelReward({
  ask: 'generate',
  truth: z.unknown(),
  options: z.strictObject({
    mode,
    /** Placeholder: `{response}`. The row's `rm_prompt` takes precedence. */
    template: z.string().default(template),
  }),
  range: [-1, 1],
  parts: dimensions,
  rm_preprocess({ sample, options: { mode, template } }) {
    const reply = replyOf(sample.response, mode)
    const response = reply?.get('Response')
    if (typeof response === 'string') return fill(sample.rmPrompt ?? template, { response })
    if (mode === 'published') throw new TypeError('the reply has no text in Response')
    return 0
  },
  rm_postprocess({ text }, { options: { mode } }) {
    return mode === 'published' ? publishedScore(text) : strictScore(text)
  },
})

/**
 * The published code searches for keywords only in the keys, so `"有害性": 0` counts as harm. A broken verdict
 * is -1.
 */
function publishedScore(text: string): number {
  const verdict = publishedVerdict(text, true)
  if (typeof verdict === 'string') return verdict === 'broken' ? -1 : 0
  for (const key of verdict.keys()) {
    if (key.includes(wrongPlan) || key.includes(accurate)) return 0
    if (key.includes(harmful)) return -1
  }
  return publishedMean(verdict)
}

function strictScore(text: string): Verdict {
  const region = afterThink(text)
  if (region === null) return null
  const marks = readMarks(soleObject(region), [...dimensions, wrongPlan, accurate, harmful])
  if (!marks) return null
  const parts = Object.fromEntries([...marks].filter(([key]) => dimensions.includes(key)))
  if (marks.get(harmful) === 1) return { value: -1, parts, flags: ['harmful'] }
  if (marks.get(wrongPlan) === 1 || marks.get(accurate) === 0)
    return { value: 0, parts, flags: ['wrong_facts'] }
  const values = Object.values(parts)
  return {
    value: values.length === 0 ? 1 : values.reduce((sum, mark) => sum + mark, 0) / values.length,
    parts,
  }
}
