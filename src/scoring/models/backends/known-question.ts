import { isObject, type JsonObject } from '../transport/reply.ts'

/** Two plain texts: a model that tells them apart has its weights. */
export const knownTexts = ['The capital of France is', 'Seven times six makes'] as const

/** What a server said to the known question: a text and how likely its first token's alternatives were, or numbers. */
export interface KnownAnswer {
  readonly text: string
  /** Logprobs of the first token's alternatives, by token; empty where the server gives none. */
  readonly likely: ReadonlyMap<string, number>
  /** One list for each known text; empty where the model writes. */
  readonly numbers: readonly (readonly number[])[]
}

/** The answer of a model that writes. `alternatives`: token and logprob. */
export const writtenAnswer = (
  text: string,
  alternatives: readonly (readonly [string, number])[],
): KnownAnswer => ({ text, likely: new Map(alternatives), numbers: [] })

/** The answer of a model that gives numbers; null where there is not a list for each text. */
export function numbersAnswer(
  entries: unknown,
  numbersOf: (entry: JsonObject) => unknown,
): KnownAnswer | null {
  if (!Array.isArray(entries) || entries.length !== knownTexts.length) return null
  const numbers = entries.map((entry: unknown) => (isObject(entry) ? flat(numbersOf(entry)) : []))
  if (numbers.some(({ length }) => length === 0)) return null
  return { text: '', likely: new Map(), numbers }
}

/** Numbers of lists within lists, two deep. */
const flat = (value: unknown): number[] =>
  [value].flat(2).filter((entry): entry is number => typeof entry === 'number' && Number.isFinite(entry))

/** Nats by which the likeliest token may move; other batches and kernels move it by some hundredths. */
const nats = 0.5
/** Share of its length by which a vector may move, and what is added for one that is close to 0. */
const share = 0.05
const least = 0.02

/** Why an answer cannot come from a model that judges; '' where it can. `before`: what the server said before it slept. */
export function doubtAbout(answer: KnownAnswer, before: KnownAnswer | null): string {
  if (isConstant(answer)) return 'it says the same to everything, as a model without weights does'
  if (before && differs(answer, before))
    return 'it answers a known question otherwise than before it slept: its weights may be lost'
  return ''
}

function isConstant({ text, likely, numbers }: KnownAnswer): boolean {
  const [one, other] = numbers
  if (one && other) return distance(one, other) === 0
  if (likely.size > 2) {
    const logprobs = [...likely.values()]
    return Math.max(...logprobs) - Math.min(...logprobs) < 1e-3
  }
  return /^!{2,}$/.test(text)
}

function differs(answer: KnownAnswer, before: KnownAnswer): boolean {
  if (answer.numbers.length !== before.numbers.length) return true
  if (before.numbers.length > 0)
    return before.numbers.some((numbers, at) => {
      const now = answer.numbers[at] ?? []
      return now.length !== numbers.length || distance(now, numbers) > share * distance(numbers, []) + least
    })
  if (before.likely.size === 0 || answer.likely.size === 0) return answer.text !== before.text
  let best: readonly [string, number] = ['', Number.NEGATIVE_INFINITY]
  for (const entry of before.likely) if (entry[1] > best[1]) best = entry
  const now = answer.likely.get(best[0])
  return now === undefined || Math.abs(now - best[1]) > nats
}

/** Between two vectors; what one of them lacks is 0. */
function distance(one: readonly number[], other: readonly number[]): number {
  let sum = 0
  for (const [at, value] of one.entries()) sum += (value - (other[at] ?? 0)) ** 2
  return Math.sqrt(sum)
}
