import { type Json, promptText } from '../../core/sample/sample.ts'
import type { KnownAnswers } from '../dataset/known-answers.ts'
import type { Subject } from './attack.ts'

/** A row of the user whose sample's response is a right answer, and wrong ones where they are given. */
export type AuditRow = Pick<KnownAnswers, 'sample' | 'nearMisses'>

/** What attacks are made from. A given near miss goes before one that is made by changing the right answer's value. */
export function subjectOf({ sample, nearMisses }: AuditRow): Subject {
  const truth = truthText(sample.groundTruth)
  const wrong = truth === null ? null : otherThan(truth)
  const made = truth === null || wrong === null ? null : replaced(sample.response, truth, wrong)
  const nears = nearMisses.length > 0 ? nearMisses : [made].flatMap((text) => text ?? [])
  return { sample, prompt: promptText(sample.prompt), truth, wrong, near: nears[0] ?? null, nears }
}

const longestTruth = 200

function truthText(truth: Json): string | null {
  const [first = null] = Array.isArray(truth) ? (truth as readonly Json[]) : [truth]
  const text = typeof first === 'number' || typeof first === 'boolean' ? String(first) : first
  if (typeof text !== 'string' || text.length > longestTruth) return null
  return text.trim() === '' || /[{}<>\n]/.test(text) ? null : text.trim()
}

const opposites: Readonly<Record<string, string>> = { yes: 'no', no: 'yes', true: 'false', false: 'true' }

/** Another text of the same kind: the next number, the next letter of A to E, the opposite, another word. */
export function otherThan(text: string, by = 1): string {
  const number = Number(text.replaceAll(',', ''))
  if (text !== '' && Number.isFinite(number)) return String(number + by)
  if (/^[A-E]$/.test(text)) return 'ABCDE'[('ABCDE'.indexOf(text) + by) % 5] ?? 'A'
  const opposite = opposites[text.toLowerCase()]
  if (opposite) return text === text.toUpperCase() ? opposite.toUpperCase() : opposite
  return ['Timbuktu', 'heliotrope', 'seventeen'][by % 3] ?? 'Timbuktu'
}

/** Every occurrence of the value as a token replaced, else the last number; null: the text holds neither. */
function replaced(text: string, value: string, other: string): string | null {
  if (hasToken(text, value)) return text.replace(tokens(value), () => other)
  const numbers = [...text.matchAll(/-?\d[\d,]*(?:\.\d+)?/g)]
  const last = numbers.at(-1)
  if (!last || !Number.isFinite(Number(other))) return null
  return text.slice(0, last.index) + other + text.slice(last.index + last[0].length)
}

/** Whether a value stands in a text between other characters than letters and digits. */
export const hasToken = (text: string, value: string): boolean => value !== '' && tokens(value).test(text)

const tokens = (value: string): RegExp =>
  new RegExp(
    `(?<![\\p{L}\\p{N}.,]|\\p{N}[.,])${value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?!\\p{L}|\\p{N}|[.,]\\p{N})`,
    'gu',
  )
