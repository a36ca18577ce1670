import { cyrb53 } from '../../src/core/hash.ts'

/** The judges of a day: two that say yes or no, and a process reward model. */
export type JudgeName = 'judge-small' | 'judge-big' | 'prm'

/** How often judge-big has no verdict. */
const shareWithout = 0.02

/**
 * What a judge says of an attempt at a task, by a rule that the judges' servers and the trainer know and the gateway does not.
 * `image`: what the judge saw of it. null: a text without a verdict.
 */
export function verdictOf(judge: JudgeName, task: string, attempt: string, image = ''): 0 | 1 | null {
  const told = `${judge} ${task} ${attempt} ${image}`
  if (judge === 'judge-big' && cyrb53(told) / 2 ** 53 < shareWithout) return null
  return cyrb53(told, 1) % 2 === 0 ? 0 : 1
}

/** A judge sees an image as the hash of its data URL. */
export const seenImage = (url: string): string => String(cyrb53(url))

/** What a simulated server of a judge answers to a prompt. */
export function answerTo(judge: JudgeName, prompt: string): string | { score: 0 | 1; reason: string } {
  const marks = marksIn(prompt)
  // A prompt without its marks is a fault, which shows as a verdict that nobody expects.
  if (!marks) return 'There is no task here, or no attempt.'
  const verdict = verdictOf(judge, marks.task, marks.attempt, marks.image)
  return verdict === null ? 'It depends on what was meant.' : { score: verdict, reason: 'By the rule.' }
}

const letters = 'abcdefghijklmnop'

/** Twelve letters, since a digit could be taken for an answer. */
export function tagOf(name: string): string {
  const hash = cyrb53(name).toString(16).padStart(14, '0').slice(-12)
  return Array.from(hash, (digit) => letters[Number.parseInt(digit, 16)]).join('')
}

export const taskMark = (task: string): string => `Task ${task}`
export const attemptMark = (attempt: string): string => `Attempt ${attempt}`

/** The marks in a judge's prompt; null where one is missing. */
export function marksIn(prompt: string): { task: string; attempt: string; image: string } | null {
  const task = /\bTask ([a-p]{12})\b/.exec(prompt)?.[1]
  const attempt = /\bAttempt ([a-p]{12})\b/.exec(prompt)?.[1]
  const image = /<\|vision_start\|>(\d+)</.exec(prompt)?.[1] ?? ''
  return task && attempt ? { task, attempt, image } : null
}
