import { type Fields, isObject } from '../dataset/row.ts'
import { chat, pairs } from './conversations.ts'
import { countdown } from './countdown.ts'
import { type Family, messagesOf, textOf, Unusable } from './family.ts'
import { liveCodeBench } from './live-code-bench.ts'
import { npgMuse } from './npg-muse.ts'
import { toolCall } from './tool-call.ts'

const mark = '####'
const request = 'Think step by step, and write the final number behind "####" on a line of its own.'

/** The published grade-school problems: a question and a worked answer that ends with `#### <number>`. */
const gsm8k: Family = {
  name: 'gsm8k',
  source: '{"question", "answer"}, the answer ending with "#### <number>"',
  ability: 'math',
  steps: [{ name: 'rule', function: 'gsm8k-progressive' }],
  columns: { groundTruth: 'VARCHAR', extraInfo: { question: 'VARCHAR' } },
  rmPrompts: 0,
  read(row, { dataSource = 'openai/gsm8k' }) {
    const question = textOf(row, 'question')
    const answer = textOf(row, 'answer')
    const at = answer.lastIndexOf(mark)
    if (at === -1) throw new Unusable(`answer has no ${mark}`)
    const truth = answer
      .slice(at + mark.length)
      .trim()
      .replaceAll(',', '')
    if (truth === '') throw new Unusable(`nothing follows ${mark}`)
    const number = Number(truth)
    return {
      dataSource,
      prompt: [{ role: 'user', content: `${question} ${request}` }],
      groundTruth: truth,
      extraInfo: { question },
      gold: answer,
      nearMiss: Number.isFinite(number) ? `${answer.slice(0, at)}${mark} ${number + 1}` : null,
    }
  },
}

const place = '{response}'

/** A delivery-support agent: its input, the expected object and a judge prompt. */
const rider: Family = {
  name: 'rider',
  source:
    '{"input", "target", "grm_input"}; the judge prompt of grm_input (or several in a list) has {response}',
  ability: 'customer_service',
  steps: [{ name: 'rule', function: 'rider-rule' }],
  columns: { groundTruth: 'VARCHAR', extraInfo: {} },
  rmPrompts: 2,
  read(row, { dataSource = 'rider' }) {
    const target = isObject(row.target) ? JSON.stringify(row.target) : textOf(row, 'target')
    const rmPrompts = judgePrompts(row)
    return {
      dataSource,
      prompt: messagesOf(row.input, 'input'),
      groundTruth: target,
      extraInfo: {},
      ...(rmPrompts && { rmPrompts }),
      gold: target,
      nearMiss: otherSolution(target),
    }
  },
}

/**
 * A single prompt serves both judges, like in the published rows. null: the judges use their own templates.
 */
function judgePrompts({ grm_input: given }: Fields): readonly string[] | null {
  if (given === undefined || given === null) return null
  const prompts = Array.isArray(given) ? given : [given, given]
  if (!prompts.every((prompt) => typeof prompt === 'string') || prompts.length > 2)
    throw new Unusable('grm_input is neither a string nor a list of one or two strings')
  if (!prompts.every((prompt) => prompt.includes(place))) throw new Unusable(`grm_input has no ${place}`)
  return prompts
}

function otherSolution(target: string): string | null {
  try {
    const reply: unknown = JSON.parse(target)
    if (!isObject(reply)) return null
    return JSON.stringify({ ...reply, ResponseSolution: reply.ResponseSolution === '无' ? '申诉驳回' : '无' })
  } catch {
    return null
  }
}

/** Every kind of training data that `prepare` supports, by name. */
export const families: ReadonlyMap<string, Family> = new Map(
  [gsm8k, countdown, toolCall, rider, npgMuse, pairs, chat, liveCodeBench].map((family) => [
    family.name,
    family,
  ]),
)
