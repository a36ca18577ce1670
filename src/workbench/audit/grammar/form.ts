import type { Place } from './value.ts'

/** A way to commit to an answer. */
export interface Form {
  readonly name: string
  /** The response, with what reasoning the form has. */
  respond(text: string): string
  /** The part that commits. */
  commit(text: string): string
}

/** The name of the form that a row's own right answer has. */
export const givenForm = 'as given'

const work = 'I work it out step by step.'
const thoughts = `<think>\n${work}\n</think>`

const of = (name: string, commit: (text: string) => string, lead = `${work}\n`): Form => ({
  name,
  commit,
  respond: (text) => lead + commit(text),
})

/** Forms that rewards are known to read. Which of them a reward pays is found by trying. */
export const usualForms: readonly Form[] = [
  of('mark', (text) => `#### ${text}`),
  of('box', (text) => `\\boxed{${text}}`),
  of('box in a sentence', (text) => `So the final answer is $\\boxed{${text}}$.`),
  of('tag', (text) => `<answer>${text}</answer>`, ''),
  of('thoughts and tag', (text) => `<answer>${text}</answer>`, `${thoughts}\n`),
  of('thoughts and box', (text) => `\\boxed{${text}}`, `${thoughts}\n`),
  of('sentence', (text) => `The answer is ${text}.`),
  of('sentence without a stop', (text) => `The final answer is ${text}`),
  of('label', (text) => `Answer: ${text}`),
  of('bold label', (text) => `**Answer:** ${text}`),
  of('hashes', (text) => `### ${text}`),
  of('last line', (text) => text),
  of('bare', (text) => text, ''),
  of('dollars', (text) => `The answer is $${text}$.`),
  of('bold', (text) => `The answer is **${text}**.`),
  of('JSON', (text) => JSON.stringify({ answer: text }), ''),
  of('brackets', (text) => `The answer is [[${text}]].`),
]

/** The form of a right answer. */
export function ownForm(response: string, { start, end }: Place): Form {
  const open = response.lastIndexOf('<answer>', start)
  const close = response.indexOf('</answer>', end)
  const isTagged = open >= 0 && close >= 0 && !response.slice(open, start).includes('</answer>')
  const from = isTagged ? open : response.lastIndexOf('\n', start - 1) + 1
  const stop = isTagged
    ? close + '</answer>'.length
    : (response.indexOf('\n', end) + response.length + 1) % (response.length + 1)
  return {
    name: givenForm,
    respond: (text) => response.slice(0, start) + text + response.slice(end),
    commit: (text) => response.slice(from, start) + text + response.slice(end, stop),
  }
}
