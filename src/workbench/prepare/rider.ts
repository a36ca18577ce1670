import { type Fields, isObject } from '../dataset/fields.ts'
import { type Family, messagesOf, textOf, Unusable } from './family.ts'

const place = '{response}'

/** A delivery-support agent: what it is asked, the object that it should answer, and a judge's prompt. */
export const rider: Family = {
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

/** One prompt serves both judges, as in the published rows; null: the judges' own templates do. */
function judgePrompts({ grm_input: given }: Fields): readonly string[] | null {
  if (given === undefined || given === null) return null
  const prompts = Array.isArray(given) ? given : [given, given]
  if (!prompts.every((prompt) => typeof prompt === 'string') || prompts.length > 2)
    throw new Unusable('grm_input is no text, and no list of one or two')
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
