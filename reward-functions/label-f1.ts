import { z } from 'zod'
import { defineRule, type Score } from '../src/contract/index.ts'
import { answerAt, answerPlaces, isBlank, promptText } from '../src/grading/index.ts'

const label = z.string().trim().min(1).max(200)
const [mostLabels, mostItems] = [1000, 1000]
const wanted = z.union([label.transform((one) => [one]), z.array(label).max(mostLabels)], {
  error: 'is no label and no list of labels',
})
const weight = z.number().positive()
const same = (one: string): string => one.trim().toLowerCase()

/**
 * Cost-sensitive F1 of the labels that an answer names: T / (T + (fp * P + fn * N) / 2), where T, P and N are the weights of
 * the labels that are right, wrong and missing. With `fp: 1` and `fn: 1` that is F1. If there is nothing to find and nothing is
 * named, it pays `tn`. The answer is a JSON list of labels, or labels in lines or behind commas; `none` names no label. What
 * is no label counts as a wrong one.
 *
 * Invalid: a ground truth that is no label of `classes` and no list of them.
 */
export default defineRule({
  options: z
    .strictObject({
      /** The labels, with the weight of each class. */
      classes: z.record(label, weight).refine((classes) => Object.keys(classes).length > 0, 'names no label'),
      /** What a wrong label costs, in weights. */
      fp: z.number().min(0).default(1),
      /** What a missing label costs, in weights. */
      fn: z.number().min(0).default(1),
      /** What is paid if there is no label to name and none is named. */
      tn: z.number().min(0).max(1).default(1),
      /** The answer that names no label. */
      none: label.default('none'),
      /** Where the response states its answer, after its thinking. */
      place: z.enum(answerPlaces).default('whole'),
    })
    .refine(({ classes, none }) => !Object.keys(classes).some((one) => same(one) === same(none)), {
      path: ['none'],
      message: 'is a label of classes too',
    })
    .refine(({ classes }) => new Set(Object.keys(classes).map(same)).size === Object.keys(classes).length, {
      path: ['classes'],
      message: 'has a label twice, apart from case',
    }),
  truth: ({ classes, none }) => {
    const known = new Set(Object.keys(classes).map(same))
    return wanted
      .transform((labels) => [...new Set(labels.map(same))].filter((one) => one !== same(none)))
      .refine((labels) => labels.every((one) => known.has(one)), 'has a label that options.classes lacks')
  },
  range: [0, 1],
  parts: ['tp', 'fp', 'fn', 'tn'],
  score({ sample, truth, options: { classes, fp, fn, tn, none, place } }): Score {
    const answer = answerAt(sample.response, place, promptText(sample.prompt))
    if ('reason' in answer) return { value: 0, details: { reason: answer.reason } }
    const weights = new Map(Object.entries(classes).map(([one, weight]) => [same(one), weight]))
    const items = itemsOf(answer.text, none)
    if (items.length > mostItems) return { value: 0, details: { reason: 'too_many_items' } }
    const named = new Set(items.filter((one, _, { length }) => length > 1 || one !== same(none)))
    const heaviest = Math.max(...weights.values())
    const sum = (labels: readonly string[]): number =>
      labels.reduce((total, one) => total + (weights.get(one) ?? heaviest), 0)
    const found = truth.filter((one) => named.has(one))
    const parts = {
      tp: sum(found),
      // A label that is named twice is named wrongly once.
      fp:
        sum([...named].filter((one) => !truth.includes(one))) +
        (items.length - new Set(items).size) * heaviest,
      fn: sum(truth.filter((one) => !named.has(one))),
      tn: Number(truth.length === 0 && named.size === 0),
    }
    if (truth.length === 0) return { value: named.size === 0 && items.length > 0 ? tn : 0, parts }
    return { value: parts.tp === 0 ? 0 : parts.tp / (parts.tp + (fp * parts.fp + fn * parts.fn) / 2), parts }
  },
})

/** The labels of an answer, in lower case. */
function itemsOf(answer: string, none: string): readonly string[] {
  const listed = answer.startsWith('[') ? jsonList(answer) : null
  if (listed?.length === 0) return [same(none)]
  const items = listed ?? answer.replace(/\.\s*$/, '').split(/[,;\n、，；]/)
  return items.map((item) => same(item.replace(/^\s*[-*•]\s+/, ''))).filter((item) => !isBlank(item))
}

function jsonList(answer: string): readonly string[] | null {
  try {
    const items: unknown = JSON.parse(answer)
    return Array.isArray(items) && items.every((item) => typeof item === 'string') ? items : null
  } catch {
    return null
  }
}
