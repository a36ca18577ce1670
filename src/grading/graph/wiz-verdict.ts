import { trimSpace, whiteSpace } from '../white-space.ts'
import { afterHashes } from './boxed-list.ts'
import { arcsOf, isForward, listedNodes, literalIntegers, nodesOf } from './topological-order.ts'
import { lastLooseNumeral, onlyNumber, onlyYesNo, wizTasks } from './wiz-answer.ts'

/** Numbers of the original graders are equal below this difference. */
const tolerance = 0.01
const lastWord = /(?<![\p{L}\p{N}_])(yes|no)(?![\p{L}\p{N}_])/gu
const leadingSpace = new RegExp(`^[${whiteSpace}]+`)

/** GraphWiz's own verdict: plain substrings after the last `###`; null where it has none. */
export function publishedWizVerdict(task: string, groundTruth: string, whole: string): boolean | null {
  const truth = groundTruth.toLowerCase()
  const response = whole.replace(leadingSpace, '').toLowerCase()
  const hashed = afterHashes(response)
  const tail = hashed ?? response
  const goal = trimSpace(afterHashes(truth) ?? truth)
  switch (task === 'triangle' ? null : wizTasks.get(task)) {
    case 'word': {
      if (hashed !== null) return ['yes', 'no'].some((word) => truth.includes(word) && tail.includes(word))
      const word = Array.from(response.matchAll(lastWord)).at(-1)?.[0]
      if (word === undefined) return false
      return truth.includes(word) ? true : null
    }
    case 'number':
      return Math.abs(lastLooseNumeral(truth) - lastLooseNumeral(tail)) < tolerance
    case 'order': {
      if (hashed === null) return goal.split(',').some((piece) => response.includes(trimSpace(piece)))
      const path = trimSpace(tail)
      return path.includes(goal) || goal.includes(path)
    }
    default:
      return null
  }
}

/** GraphWiz-Revised's verdict of an extracted answer; throws for a task that it does not know. */
export function revisedWizVerdict(task: string, gold: string, answer: string, prompt: string): boolean {
  switch (task === 'triplet' ? null : wizTasks.get(task)) {
    case 'word':
      return answer.toLowerCase() === gold.toLowerCase()
    case 'number':
      return Math.abs(lastLooseNumeral(gold) - lastLooseNumeral(answer)) < tolerance
    case 'order': {
      const arcs = arcsOf(prompt)
      const order = literalIntegers(/^\p{Nd}+$/u.test(answer) ? `[${answer}]` : answer)
      return order !== null && isForward(order, new Set(arcs.flat()), arcs)
    }
    default:
      throw new Error('data_source names no task of GraphWiz-Revised')
  }
}

/** Whether an answer that stands alone is right: one word, one number, or each node once and every arc forward. */
export function strictWizVerdict(task: string, groundTruth: string, answer: string, prompt: string): boolean {
  const truth = afterHashes(groundTruth) ?? groundTruth
  const kind = wizTasks.get(task)
  if (kind === 'order') return isOrder(truth, answer, prompt)
  if (kind === undefined) throw new Error(`data_source must be one of ${[...wizTasks.keys()].join(', ')}`)
  const read = kind === 'word' ? onlyYesNo : onlyNumber
  const goal = read(truth)
  if (goal === null) throw new Error(`ground_truth holds no ${kind === 'word' ? 'yes or no' : 'number'}`)
  return read(answer) === goal
}

function isOrder(truth: string, answer: string, prompt: string): boolean {
  const order = listedNodes(answer)
  const arcs = arcsOf(prompt)
  if (order === null) return false
  if (arcs.length === 0) return order.join() === listedNodes(truth)?.join()
  const nodes = nodesOf(prompt, arcs)
  return order.length === nodes.size && isForward(order, nodes, arcs)
}
