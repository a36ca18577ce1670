import { hasStrayWords } from '../answer/known-words.ts'
import { leadWithin } from '../answer/lead-in.ts'
import { isWithdrawn } from '../answer/withdrawal.ts'
import { isBounded, isCalledWrong, isDoubted, isHedged, isTakenBack } from '../answer/wording.ts'
import { asciiDigits, trimSpace, whiteSpace } from '../characters.ts'
import { slicedBox } from '../latex.ts'
import { equalMathAnswers, readMathTruth } from '../math/index.ts'
import { readDecimal } from '../number-answer.ts'
import { innermostLists } from './lists.ts'

/** A directed edge between numbered nodes. */
type Arc = readonly [from: number, to: number]

/** All `(1->2)` in a prompt. */
function arcsOf(prompt: string): Arc[] {
  return Array.from(prompt.matchAll(/\((\p{Nd}+)->(\p{Nd}+)\)/gu), ([, from = '', to = '']) => [
    Number(asciiDigits(from)),
    Number(asciiDigits(to)),
  ])
}

/** The nodes of a prompt: those of its arcs, plus a to b if it says `numbered from a to b`. */
function nodesOf(prompt: string, arcs: readonly Arc[]): Set<number> {
  const nodes = new Set(arcs.flat())
  const [, first, last] = /numbered from (\d{1,6}) to (\d{1,6})/.exec(prompt) ?? []
  if (first !== undefined) for (let node = Number(first); node <= Number(last); node++) nodes.add(node)
  return nodes
}

/**
 * Whether the order lists exactly these nodes and every arc goes forward, from its tail's last position to
 * its head's.
 */
function isForward(order: readonly number[], nodes: ReadonlySet<number>, arcs: readonly Arc[]): boolean {
  const place = new Map(order.map((node, at) => [node, at]))
  if (place.size !== nodes.size || !order.every((node) => nodes.has(node))) return false
  return arcs.every(([from, to]) => place.get(from)! < place.get(to)!)
}

/**
 * The numbers of the only list `[1, 2, ...]`, or of a text that is a list or a chain `1 -> 2 -> ...`. null if
 * there is none.
 */
function listedNodes(text: string): number[] | null {
  const [list = text, ...more] = text.includes('[') ? innermostLists(text) : []
  if (list !== text && isHedged(text.replace(list, ''))) return null
  const bare = list
    .trim()
    .replace(/\\(?:to|rightarrow|longrightarrow)(?![a-z])/g, '->')
    .replace(/^\(|[).,]$/g, '')
  if (more.length > 0 || !/^\d{1,15}(?:(?:\s*(?:,|->|→)\s*|\s+)\d{1,15})*$/.test(bare)) return null
  return bare.split(/\s*(?:,|->|→)\s*|\s+/).map(Number)
}

const integer = /^[+-]?(?:[1-9][0-9]*(?:_[0-9]+)*|0+)$/

/**
 * A list, tuple or set of integers as Python's `literal_eval` reads it (sets in ascending order). null for
 * other texts.
 */
function literalIntegers(text: string): number[] | null {
  const match = /^\s*(?:\[([^[\](){}]*)\]|\(([^[\](){}]*)\)|\{([^[\](){}]*)\}|([^[\](){}]*))\s*$/.exec(text)
  if (!match) return null
  const [, list, bracketed, set, bare] = match
  const items = (list ?? bracketed ?? set ?? bare ?? '').split(',').map((item) => item.trim())
  if (items.length > 1 || list !== undefined) if (items.at(-1) === '') items.pop()
  const isTuple = (bracketed ?? bare) !== undefined
  if (isTuple && !(bracketed ?? bare ?? '').includes(',') && items.join('') !== '') return null
  if ((set !== undefined || bare !== undefined) && items.join('') === '') return null
  if (!items.every((item) => integer.test(item))) return null
  const numbers = items.map((item) => Number(item.replaceAll('_', '')))
  return set === undefined ? numbers : [...new Set(numbers)].sort((a, b) => a - b)
}

/** Where the answer is: in the last box, or after the last `###`. */
export type AnswerMark = 'box' | 'hashes'

const spoken = new RegExp(`the (?:final )?answer is[${whiteSpace}]*([^\\n]*)`, 'iu')

/** The list that a response answers with, as G1 finds it. In brackets if the prompt has any. */
export function boxedListText(response: string, place: AnswerMark, asksForList: boolean): string {
  const found = place === 'box' ? slicedBox(response) : afterHashes(response)
  const text = found === null ? spokenAnswer(response) : trimSpace(found)
  return inBrackets(text.replaceAll('text', '').replace(/[\\{}]/g, ''), asksForList)
}

/** The text after the last `###`, or null. */
export function afterHashes(text: string): string | null {
  const at = text.lastIndexOf('###')
  return at === -1 ? null : text.slice(at + 3)
}

function spokenAnswer(response: string): string {
  const capture = trimSpace(spoken.exec(response)?.[1] ?? '')
  return capture.replaceAll(':', '').replaceAll('\\n', '').replaceAll('.', '')
}

export function inBrackets(text: string, asksForList: boolean): string {
  return asksForList && !text.includes('[') ? `[${text}]` : text
}

/**
 * The kind of answer of each GraphWiz task. The original calls the heaviest triangle `triplet`, the revision
 * `triangle`.
 */
export const wizTasks: ReadonlyMap<string, 'word' | 'number' | 'order'> = new Map([
  ['cycle', 'word'],
  ['connectivity', 'word'],
  ['hamilton', 'word'],
  ['substructure', 'word'],
  ['bipartite', 'word'],
  ['flow', 'number'],
  ['shortest', 'number'],
  ['triplet', 'number'],
  ['triangle', 'number'],
  ['topology', 'order'],
])

const numeral = /[-+]?[0-9.,]+/g

/** The only number in a ground truth, normalised. null if there is none, it is unreadable, or several differ. */
function onlyNumber(text: string): string | null {
  const numerals = (text.match(numeral) ?? []).filter((found) => /[0-9]/.test(found))
  const numbers = new Set(numerals.map((found) => readDecimal(withoutFinalMarks(found))))
  const [number = null] = numbers
  return numbers.size === 1 ? number : null
}

/** Removes full stops and commas that end a clause. */
export function withoutFinalMarks(found: string): string {
  let end = found.length
  while (found[end - 1] === '.' || found[end - 1] === ',') end--
  return found.slice(0, end)
}

const yesOrNo = /(?<![\p{L}\p{N}_])(?:yes|no)(?![\p{L}\p{N}_])/gu

/** `yes` or `no` if a ground truth contains exactly one of the two words, otherwise null. */
function onlyYesNo(text: string): 'yes' | 'no' | null {
  const words = new Set(text.toLowerCase().match(yesOrNo))
  if (words.size !== 1) return null
  return words.has('yes') ? 'yes' : 'no'
}

/** A longer answer is more than an answer. The bound also limits the patterns' cost. */
const longestAnswer = 2000

/** Emphasis, quotes and marks of mathematics around an answer. */
const dress =
  /[*_`"'“”‘’$()[\]{}]|✅|✔|☑|🎉|\ufe0f|<[|｜][\w▁]{1,30}[|｜]>|\\(?:[()[\],;! ]|(?:boxed|fbox|text(?:bf|it|rm)?|math(?:bf|it|rm|sf)|quad|displaystyle)(?![a-z]))/giu

/** Signs and marks that take an answer back. */
const struck = /[❌✗✘✖🚫⛔👎]|~~/u

/** What may stand before `yes` or `no`: an announcement, or for `no` the start of a sentence about what is missing. */
const announced =
  /(?:^|[:=,]|(?<![\p{L}\p{N}_])(?:answer|conclusion|is|so|therefore|thus|hence|definitely|clearly|certainly|simply))$/u
const missing = /(?<![\p{L}\p{N}_])(?:there|are|has|have|had|contains?|with|exists?|since|because|as)$/u
const clause = /[,.;:\n]|(?<![\p{L}\p{N}_])(?:so|therefore|thus|hence)(?![\p{L}\p{N}_])/gu

/** What may follow `yes`: a separator, or the reason. */
const separated =
  /^(?:$|[.,;:!(—–\n-]|(?:because|since|as|there|it|the|this|all|every|we|you|such)(?![\p{L}\p{N}_]))/u

/**
 * The `yes` or `no` that an answer commits to: alone, announced or with a reason. null: neither, both, or one that is
 * denied or doubted.
 */
function committedWord(answer: string, question: string): 'yes' | 'no' | null {
  if (answer.length > longestAnswer || struck.test(answer)) return null
  const text = answer.toLowerCase().replace(dress, ' ')
  const word = onlyYesNo(text)
  if (word === null) return null
  const at = text.search(yesOrNo)
  const before = text.slice(0, at).trim()
  const after = text.slice(at + word.length).replace(/^[^\S\n]+/, '')
  if (isDoubted(before) || (word === 'yes' ? isTakenBack : isCalledWrong)(after)) return null
  if (/[<>≤≥≠≈~!¬]|\\[a-z]|\b(?:if|expected|suppose|assume|prove|disprove)/.test(before)) return null
  if (/\\[lc]?dots|…|\.\.\./.test(after) || isWithdrawn(`\n${after.replace(/^[^\p{L}]+/u, '')}`, () => null))
    return null
  if (word === 'yes') {
    const isFree = !isHedged(before) && leadWithin(before) === null && !isStray(before, question)
    return announced.test(before) && isFree && separated.test(after) ? word : null
  }
  const own = before.split(clause).at(-1) ?? ''
  const begins = (announced.test(before) && !isStray(own, question)) || missing.test(before)
  return begins && !isHedged(own) ? word : null
}

/** Words of answers about graphs. */
export const graphWords = `weight path shortest longest maximum minimum max min least largest fewest heaviest lightest contain contains flow node vertex vertices edge sum distance length
  triangle graph network between from through via cycle capacity interconnected topology topological sorting question
  found conclude conclusion respond response yes no definitely clearly certainly simply obviously following`

/** Whether words beside an answer are neither of the question nor such as state an answer. */
export const isStray = (words: string, question: string): boolean =>
  hasStrayWords(
    words.replace(/\d/g, ' '),
    '',
    { numerator: 0n, denominator: 1n },
    `${question} ${graphWords}`,
  )

const decimal = '[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\\.[0-9]+)?'
const named = '(?:weights?|lengths?|distances?|flow|sum|costs?|total|value|answer|result)'
const linked = `(?:is|are|was|of|equals?|be|(?:equal|sums?|adds? up|amounts?|comes?) to|${named})`
const unit = '(?:\\s*(?:units?(?: of flow)?|edges?|hops?|steps?|nodes?|in total|total|overall))?'
const statedNumber = new RegExp(
  `^(?:(.*(?:(?<![\\p{L}\\p{N}_])${linked}\\s*[:=]?|[:=]))?\\s*)(${decimal})${unit}\\s*[.。]?\\s*$`,
  'su',
)

/** `3 + 4 + 5 = 12`, without a word or a name. */
const computed = /^[\s\d.+*×·()-]{1,400}=\s*\d+(?:\.\d+)?\s*\.?\s*$/

/** The last number of a computation that is right. */
function computedNumber(text: string): string | null {
  const last = readDecimal(withoutFinalMarks(text.slice(text.lastIndexOf('=') + 1).trim()))
  const truth = last === null ? null : readMathTruth(last)
  return truth && equalMathAnswers(truth, text).decision !== null ? last : null
}

/**
 * The number that an answer commits to: alone, or at the end of a statement, with a unit of the task. null: none,
 * several, or one that is denied, doubted, bounded or scaled.
 */
function committedNumber(answer: string, question: string): string | null {
  if (answer.length > longestAnswer || struck.test(answer) || /^[^'‘’]*\d\s*['’′]/.test(answer)) return null
  const text = asciiDigits(answer)
    .replace(/[−–—‐‑](?=[0-9])/g, '-')
    .toLowerCase()
    .replace(dress, ' ')
  if (computed.test(text)) return computedNumber(text)
  const [, before = '', digits] = statedNumber.exec(text.trim()) ?? []
  if (digits === undefined) return null
  const several = /[+*/\\|]|\d\s*(?:[:=]+|equals?)\s*$|(?:is|are|=|equals?)\s*[-+]?\d/
  if (leadWithin(before) !== null || isStray(before, question)) return null
  if (isHedged(before) || isBounded(lastWords(before)) || several.test(before)) return null
  return /(?<![\p{L}\p{N}_])or(?![\p{L}\p{N}_])/u.test(before) ? null : readDecimal(digits)
}

const lastWords = (text: string): string => text.split(/\s+/).slice(-6).join(' ')

/** The last number of a text as the published code reads it, without sign or exponent. 0 if there is none. */
export function lastLooseNumeral(text: string): number {
  const joined = text.replace(/(\p{Nd}),(\p{Nd})/gu, '$1$2')
  const numbers = joined.match(/\p{Nd}+(?:\.\p{Nd}+)?/gu)
  return Number(asciiDigits(numbers?.at(-1) ?? '0'))
}

/** The published graders treat numbers as equal below this difference. */
const tolerance = 0.01
const lastWord = /(?<![\p{L}\p{N}_])(yes|no)(?![\p{L}\p{N}_])/gu
const leadingSpace = new RegExp(`^[${whiteSpace}]+`)

/** GraphWiz's own verdict from substrings after the last `###`. null if it gives none. */
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

/** GraphWiz-Revised's verdict of an extracted answer. Throws for an unknown task. */
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
      throw new Error('data_source is not a task of GraphWiz-Revised')
  }
}

/** Whether a bare answer is right: one word, one number, or each node once with every arc forward. */
export function strictWizVerdict(task: string, groundTruth: string, answer: string, prompt: string): boolean {
  const truth = afterHashes(groundTruth) ?? groundTruth
  const kind = wizTasks.get(task)
  if (kind === 'order') return isOrder(truth, answer, prompt)
  if (kind === undefined) throw new Error(`data_source must be one of ${[...wizTasks.keys()].join(', ')}`)
  const goal = kind === 'word' ? onlyYesNo(truth) : (onlyNumber(truth) ?? committedNumber(truth, prompt))
  if (goal === null) throw new Error(`ground_truth has no ${kind === 'word' ? 'yes or no' : 'number'}`)
  return wizValue(task, answer, prompt) === goal
}

/** The word or number that a bare answer commits to. null: none, or the task wants an order. */
export function wizValue(task: string, answer: string, prompt: string): string | null {
  const kind = wizTasks.get(task)
  if (kind !== 'word' && kind !== 'number') return null
  return (kind === 'word' ? committedWord : committedNumber)(answer, prompt)
}

function isOrder(truth: string, answer: string, prompt: string): boolean {
  const order = listedNodes(answer)
  const arcs = arcsOf(prompt)
  if (order === null) return false
  if (arcs.length === 0) return order.join() === listedNodes(truth)?.join()
  const nodes = nodesOf(prompt, arcs)
  return order.length === nodes.size && isForward(order, nodes, arcs)
}
