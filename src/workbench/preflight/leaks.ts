import { promptText } from '../../core/sample/sample.ts'
import type { Findings } from './finding.ts'
import { type Item, turnsOf } from './item.ts'

/** A text of at least this length does not stand in a prompt by chance. */
const tellingLength = 20

const marks = [/####[ \t]*/g, /\\boxed\{/g, /<answer>\s*/g, /\b(?:answer|result|solution)\s*(?:is|:|=)\s*/gi]

/** Whether the prompt gives the answer away. What the assistant said before may hold it: calls are made again. */
export function lookForLeaks(item: Item, findings: Findings): void {
  const { place, gold, sample } = item
  const prompt = promptText(turnsOf(item).filter(({ role }) => role !== 'assistant'))
  const truth = typeof sample.groundTruth === 'number' ? String(sample.groundTruth) : sample.groundTruth
  const known = [
    ['the right answer', gold ?? ''],
    ['the ground truth', typeof truth === 'string' ? truth : ''],
  ] as const
  for (const [name, text] of known) {
    if (text.trim().length < tellingLength || !prompt.includes(text.trim())) continue
    findings.add('leaked-answer', `${name} stands in the prompt`, place)
    return
  }
  if (typeof truth !== 'string' || truth.trim() === '' || truth.length >= tellingLength) return
  const stated = marks.some((mark) =>
    [...prompt.matchAll(mark)].some((found) => isNext(prompt, found, truth.trim())),
  )
  if (stated) findings.add('stated-answer', 'the prompt says that the answer is the ground truth', place)
}

function isNext(prompt: string, { 0: mark, index }: RegExpExecArray, truth: string): boolean {
  const at = index + mark.length
  const after = prompt.slice(at + truth.length, at + truth.length + 2)
  return prompt.startsWith(truth, at) && !/^[\p{L}\p{N}]|^[.,]\p{N}/u.test(after)
}
