/** How published rubric judges are asked about criteria, and the form of the reply that each reads. */

import type { Json } from '../../core/sample/sample.ts'
import type { PublishedCriterion, PublishedJudge } from './published-judges.ts'
import type { RewardkitForm } from './published-replies.ts'

/** The part of a question that follows the task and the answer: a template, and the texts of the row in it. */
export interface PublishedQuestion {
  readonly template: string
  readonly values: Readonly<Record<string, string>>
  readonly reply?:
    | { readonly choice: readonly string[] }
    | { readonly schema: { readonly [key: string]: Json } }
}

const objectOf = (properties: { readonly [key: string]: Json }): { readonly [key: string]: Json } => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

/** The question about some criteria. Its words are the gateway's; the form of the reply is the judge's. */
export function publishedQuestion(
  asked: readonly PublishedCriterion[],
  judge: PublishedJudge,
): PublishedQuestion {
  const [only] = asked
  if (judge === 'verifiers') return verifiersQuestion(asked)
  if (judge === 'rewardkit') return rewardkitQuestion(asked)
  const values = { text: only?.text ?? '' }
  if (judge === 'healthbench')
    return {
      template: `Criterion, worth ${only?.weight ?? 1} points:\n{text}\n\nDoes the answer meet the criterion? One with negative points names a fault: it is met if the answer has the fault.\nReply with one JSON object {"explanation": one sentence, "criteria_met": true or false}.`,
      values,
      reply: { schema: objectOf({ explanation: { type: 'string' }, criteria_met: { type: 'boolean' } }) },
    }
  if (judge === 'open_instruct')
    return {
      template:
        'Criterion:\n{text}\n\nHow well does the answer meet the criterion? 0: not, 1: in part, 2: fully.\nReply with one JSON object {"score": 0, 1 or 2}.',
      values,
    }
  return {
    template: 'Criterion:\n{text}\n\nDoes the criterion hold for the answer?\nReply with yes or no only.',
    values,
    reply: { choice: ['no', 'yes'] },
  }
}

function verifiersQuestion(asked: readonly PublishedCriterion[]): PublishedQuestion {
  const values: Record<string, string> = {}
  const blocks = asked.map(({ name, text, choices }, at) => {
    values[`name_${at}`] = name
    values[`text_${at}`] = text
    for (const [rank, choice] of choices.entries()) values[`choice_${at}_${rank}`] = choice
    const list = choices.map((_choice, rank) => `{choice_${at}_${rank}}`).join('\n')
    return `Criterion with the name\n{name_${at}}\n{text_${at}}\nIts verdicts, from worst to best:\n${list}\n\n`
  })
  const names = asked.map(({ name }) => name)
  const words = [...new Set(asked.flatMap(({ choices }) => choices))]
  return {
    template: `${blocks.join('')}Reply with one JSON object {"verdicts": [{"name": the name of a criterion, "reason": one sentence, "verdict": one of its verdicts}]}, with each criterion exactly once.`,
    values,
    // As loose as verifiers' own schema about how many there are: what is missing is for the reader to find.
    reply: {
      schema: objectOf({
        verdicts: {
          type: 'array',
          items: objectOf({
            name: { type: 'string', enum: names },
            reason: { type: 'string' },
            verdict: { type: 'string', enum: words },
          }),
        },
      }),
    },
  }
}

function scaleWords({ form, negate }: PublishedCriterion): string {
  const end = negate ? ', of the criterion as it is worded' : ''
  if (form.type === 'binary') return `"yes" or "no"${end}`
  if (form.type === 'likert') return `a whole number from 1 to ${form.points}${end}`
  if (form.type === 'numeric') return `a number from ${form.min} to ${form.max}${end}`
  return `the number of the level that fits best, 0 to ${form.levels - 1}${end}`
}

function rewardkitQuestion(asked: readonly PublishedCriterion[]): PublishedQuestion {
  const values: Record<string, string> = {}
  const blocks = asked.map((criterion, at) => {
    values[`name_${at}`] = criterion.name
    values[`text_${at}`] = criterion.text
    const levels = criterion.choices.map((level, rank) => {
      values[`level_${at}_${rank}`] = level
      return `\nLevel ${rank}:\n{level_${at}_${rank}}`
    })
    return `Criterion with the name\n{name_${at}}\n{text_${at}}${levels.join('')}\nIts score: ${scaleWords(criterion)}.\n\n`
  })
  // rewardkit's own schemas: no bounds, and one criterion is not named.
  const entryOf = ({ form }: PublishedCriterion) =>
    objectOf({ score: scoreSchemas[form.type], reasoning: { type: 'string' } })
  const [only] = asked
  if (asked.length === 1 && only)
    return {
      template: `${blocks.join('')}Reply with one JSON object {"score": its score, "reasoning": one sentence}.`,
      values,
      reply: { schema: entryOf(only) },
    }
  return {
    template: `${blocks.join('')}Reply with one JSON object that has each criterion's name as a key, and for each of them {"score": its score, "reasoning": one sentence}.`,
    values,
    reply: { schema: objectOf(Object.fromEntries(asked.map((one) => [one.name, entryOf(one)]))) },
  }
}

const scoreSchemas: Readonly<Record<RewardkitForm['type'], Json>> = {
  binary: { type: 'string', enum: ['yes', 'no'] },
  likert: { type: 'integer' },
  numeric: { type: 'number' },
  rubric: { type: 'integer' },
}
