import { trimSpace } from './characters.ts'
import { searchNormal } from './search-answer.ts'
import { type Overlap, overlapOf } from './similarity.ts'
import { afterLast } from './tags.ts'

/** Graders of short answers whose scores `published` reproduces. */
export const qaGraders = [
  'squad',
  'string_f1',
  'string_matcher',
  'puzzle',
  'flan',
  're_search',
  're_search_f1',
  'slime',
] as const
export type QaGrader = (typeof qaGraders)[number]

/** How many words two texts share. Linear. Nothing in common is 0, also for two texts without words. */
function wordOverlap(answer: readonly string[], gold: readonly string[]): Overlap {
  const left = new Map<string, number>()
  for (const word of gold) left.set(word, (left.get(word) ?? 0) + 1)
  let same = 0
  for (const word of answer) {
    const free = left.get(word) ?? 0
    if (free === 0) continue
    left.set(word, free - 1)
    same++
  }
  return overlapOf(same, answer.length, gold.length)
}

const wordsOf = (normal: string): readonly string[] => (normal === '' ? [] : normal.split(' '))

const overlap = (answer: string, gold: string): Overlap =>
  wordOverlap(wordsOf(searchNormal(answer)), wordsOf(searchNormal(gold)))

const equal = (answer: string, gold: string): boolean => searchNormal(answer) === searchNormal(gold)

/** SQuAD 2.0's scores against the best of the golds. Golds of articles and punctuation alone do not count; none left is ''. */
export function squadScores(
  answer: string,
  golds: readonly string[],
): { readonly exact: number; readonly f1: number } {
  const left = golds.filter((gold) => searchNormal(gold) !== '')
  const scores = (left.length > 0 ? left : ['']).map((gold) => squadScore(answer, gold))
  return {
    exact: Math.max(...scores.map(({ exact }) => exact)),
    f1: Math.max(...scores.map(({ f1 }) => f1)),
  }
}

/** SQuAD's scores against one gold. If a side has no words, F1 is 1 if both have none. */
export function squadScore(answer: string, gold: string): { readonly exact: number; readonly f1: number } {
  const exact = Number(equal(answer, gold))
  const isEmpty = [answer, gold].some((text) => searchNormal(text) === '')
  return { exact, f1: isEmpty ? exact : overlap(answer, gold).f1 }
}

const wholeOnly: ReadonlySet<string> = new Set(['yes', 'no', 'noanswer'])

/** slime's F1: `yes`, `no` and `noanswer` on either side must be the whole other side. */
export function slimeF1(answer: string | null, gold: string): Overlap {
  if (answer === null) return overlapOf(0, 0, 0)
  const [a, b] = [searchNormal(answer), searchNormal(gold)]
  return a !== b && (wholeOnly.has(a) || wholeOnly.has(b))
    ? overlapOf(0, 0, 0)
    : wordOverlap(wordsOf(a), wordsOf(b))
}

const flanMark = 'The answer is: '
const opening = /<finish>/iu
const closing = /<\/finish>/iu

/** What Open-Instruct's verifiers read of a response: nothing before its last `</think>`, and no tags of an answer. */
export function openInstructAnswer(response: string): string {
  const text = trimSpace(response.replaceAll('<|assistant|>', ''))
  return trimSpace(afterLast(text, '</think>').replaceAll('<answer>', '').replaceAll('</answer>', ''))
}

/** The score that Open-Instruct's verifier gives, 0 to 1. */
export function openInstructQa(
  verifier: Exclude<QaGrader, 'squad' | 'slime'>,
  response: string,
  label: unknown,
): number {
  const labels = (Array.isArray(label) ? label : [label]).map(pythonText)
  const best = (answer: string): number => Math.max(0, ...labels.map((gold) => overlap(answer, gold).f1))
  const isOne = (answer: string): number => Number(labels.some((gold) => equal(answer, gold)))
  if (verifier === 'string_f1') return best(openInstructAnswer(response))
  if (verifier === 'puzzle') return isOne(openInstructAnswer(response))
  if (verifier === 'flan') return isOne(trimSpace(afterLast(response, flanMark)))
  if (verifier === 'string_matcher') {
    if (!response.includes('<answer>') || !response.includes('</answer>')) return 0
    return isOne(trimSpace(lastTag(response, 'answer')))
  }
  if (verifier === 're_search') {
    const [, ...rest] = response.split(opening)
    const [answer = '', ...behind] = rest.join('<finish>').split(closing)
    return behind.length > 0 ? isOne(answer) : 0
  }
  if (!response.includes('<finish>') && !response.includes('</finish>')) return 0
  const answer = trimSpace(lastTag(response, 'finish'))
  return answer === '' ? 0 : best(answer) || 0.1
}

/** What follows the last opening tag, up to a closing one. */
const lastTag = (text: string, name: string): string =>
  afterLast(text, `<${name}>`).split(`</${name}>`, 1)[0] ?? ''

/** Python's `str` of what JSON can hold, of lists and objects as JSON writes them. */
function pythonText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The label of `re_search`: JSON if it is JSON, else the text. */
export function searchLabel(label: string): unknown {
  try {
    return JSON.parse(label)
  } catch {
    return trimSpace(label)
  }
}
