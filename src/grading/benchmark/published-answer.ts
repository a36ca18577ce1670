import { closingBrace } from '../latex/box.ts'
import { trimSpace, whiteSpace } from '../white-space.ts'
import { readChoice, strippedOf } from './published-choice.ts'
import { stripAnswer } from './strip-answer.ts'

const choices: ReadonlySet<string> = new Set(['mmlu_stem', 'sat_math', 'aqua', 'gaokao2023'])

const longest = 20_000
const hoped = 'final answer is $'
const hope = '$. I hope'
const lineBreak = new RegExp(`\\n[${whiteSpace}]*`, 'g')

/** Benchmarks whose answers keep their units. */
const keepsUnits = (benchmark: string): boolean => benchmark === 'minerva_math' || benchmark === 'carp_en'

/** The answer that Qwen2.5-Math's harness takes from a response, thinking included; null: over 20,000 units long. */
export function publishedAnswer(response: string, benchmark: string): string | null {
  const text = response.replaceAll('\u043a\u0438', '')
  if (choices.has(benchmark)) return readChoice(text)
  const found = marked(text) ?? lastNumber(text)
  if (found.length > longest) return null
  const answer = benchmark.includes('mmlu') ? lastLetter(found) : found
  const line = answer.replace(lineBreak, '')
  const bare = line.startsWith(':') ? line.slice(1) : line
  const ended = bare.endsWith('.') ? bare.slice(0, -1) : bare
  return stripAnswer(ended.endsWith('/') ? ended.slice(0, -1) : ended, keepsUnits(benchmark))
}

/** null: nothing is marked. */
function marked(text: string): string | null {
  const final = text.indexOf(hoped)
  if (final >= 0 && text.includes(hope))
    return trimSpace(text.slice(final + hoped.length).split(hope, 1)[0] ?? '')
  if (text.includes('boxed')) return boxed(text.slice(text.lastIndexOf('boxed') + 5))
  for (const phrase of ['he answer is', 'final answer is']) {
    const at = text.lastIndexOf(phrase)
    if (at >= 0) return trimSpace(text.slice(at + phrase.length))
  }
  const chinese = text.split('答案是', 2)[1]
  return chinese === undefined ? null : trimSpace(trimSpace(chinese).split('\n\n', 1)[0] ?? '')
}

function boxed(rest: string): string {
  if (!rest.startsWith('{')) return trimSpace(rest.split('$', 1)[0] ?? '')
  const end = closingBrace(rest, 1)
  return rest.slice(1, end < 0 ? rest.length : end)
}

function lastNumber(text: string): string {
  const numbers = text.replaceAll(',', '').match(/-?\p{Nd}*\.?\p{Nd}+/gu)
  return numbers?.at(-1) ?? ''
}

function lastLetter(text: string): string {
  const letters = text.toUpperCase().match(/(?<![\p{L}\p{N}_])[A-E](?![\p{L}\p{N}_])/gu)
  return letters?.at(-1) ?? strippedOf(trimSpace(text), '.', '.')
}
