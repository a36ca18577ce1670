import { answerAt } from './answer-place.ts'
import { compatible, trimSpace, whiteSpace } from './characters.ts'
import { boxContents } from './latex.ts'
import { afterThink } from './tags.ts'

/** A stated choice, or why there is none. */
export type StatedChoice = { readonly choice: string } | { readonly reason: string }

const blank = `[${whiteSpace}]`
const dressed = '[*_"\'`“”‘’$]*'
const verb = `(?:${blank}+(?:is|are|would be|must be))?${blank}*(?:[:=是为]${blank}*)?`
const introduction = `(?:[Aa]nswer|ANSWER|[Cc]hoice|[Oo]ption|答案|选项|选)${verb}${dressed}`
const letter = '(?:([A-Z])|\\(([A-Za-z])\\)|\\{([A-Za-z])\\})(?![\\p{L}\\p{N}])'
const phrase = new RegExp(introduction + letter, 'gu')
const lone = new RegExp(`^${dressed}(?:\\\\text)?[({]?([A-Z])(?:${dressed}$|${dressed}[)}.:,\\n])`, 'u')
/** A single capital letter that is not part of the sentence: in brackets, in bold, or at the end. */
const standingAlone = /(?<=[(*])[A-Z](?=[)*])|(?<=\s)[A-Z](?=[.]?$)/g
const denied = /\b(?:not|nor|neither|never|or|except|cannot|rule[sd]? out)\b|n['’]t\b|[不非或]/i
const only = new RegExp(`^${dressed}(?:\\\\text)?[({]?([A-Za-z])[)}]?[.]?${dressed}$`, 'u')

/**
 * The letter that a response settles on: in its box, in `<answer>`, after "answer is", or alone.
 * Contradictions give no choice.
 *
 * @example
 * ```ts
 * import { statedChoice } from 'reward-gateway/grading'
 *
 * statedChoice('So the answer is (B).', ['A', 'B', 'C']) // { choice: 'B' }
 * ```
 */
export function statedChoice(response: string, labels: readonly string[]): StatedChoice {
  const text = afterThink(compatible(response))
  if (text === null) return { reason: 'thinking_unclosed' }
  const place = boxContents(text).length > 0 ? 'boxed' : text.includes('<answer>') ? 'tag' : null
  if (place !== null) {
    const stated = answerAt(text, place)
    return 'text' in stated ? loneChoice(stated.text, labels) : stated
  }
  const named = Array.from(text.matchAll(phrase), (found) => upper(found.slice(1))).filter((name) =>
    labels.includes(name),
  )
  const [first] = named
  if (first === undefined) return unnamedChoice(trimSpace(text), labels)
  return named.every((name) => name === first) ? { choice: first } : { reason: 'contradiction' }
}

/** The letter that starts a text, or else the only one in its last line. */
function unnamedChoice(text: string, labels: readonly string[]): StatedChoice {
  const first = loneChoice(text, labels)
  if (!('reason' in first) || first.reason !== 'no_choice') return first
  const line = text.split('\n').at(-1) ?? ''
  const found = new Set((line.match(standingAlone) ?? []).filter((name) => labels.includes(name)))
  const [choice] = found
  if (choice === undefined || denied.test(line)) return first
  return found.size === 1 ? { choice } : { reason: 'several_choices' }
}

/** A text that is a letter, or starts with one as a list item would, if no other line does. */
function loneChoice(text: string, labels: readonly string[]): StatedChoice {
  const lines = text.split('\n').map(trimSpace)
  const [first, ...others] = lines.map((line) => upper((only.exec(line) ?? lone.exec(line) ?? []).slice(1)))
  if (first === undefined || !labels.includes(first)) return { reason: 'no_choice' }
  return others.some((other) => other !== first && labels.includes(other))
    ? { reason: 'several_choices' }
    : { choice: first }
}

const upper = (letters: readonly (string | undefined)[]): string =>
  letters.find((letter) => letter !== undefined)?.toUpperCase() ?? ''
