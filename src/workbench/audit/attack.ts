/** What an attack of the audit is and what it is made from. The attacks themselves are in `catalogue/`. */

import { GatewayError } from '../../core/errors.ts'
import {
  type FailureKind,
  type Json,
  type Message,
  promptText,
  type Sample,
} from '../../core/sample/sample.ts'
import type { Plan } from '../../scoring/plan/plan.ts'
import { rolloutOf } from '../../trainers/chat/rollout.ts'
import { eachRow } from '../dataset/row.ts'
import { openRows } from '../dataset/rows.ts'
import { asResponse, type KnownAnswers, knownAnswers, modelStepNames } from '../dataset/samples.ts'

/** The material of attacks: a row whose response is a right answer. */
export interface Subject {
  readonly sample: Sample
  readonly prompt: string
  /** The ground truth as a single text. null if it has no such form. */
  readonly truth: string | null
  /** Another text of the same kind as the truth. null if none could be made. */
  readonly wrong: string | null
  /** The right answer with a wrong value in the same format. null if none was given or could be made. */
  readonly near: string | null
  /** All near misses: the given ones, or the generated one. */
  readonly nears: readonly string[]
}

/**
 * The most that a response deserves. `nothing`: the reward of an answer that ignores the task. `wrong`: the
 * reward of a near miss. `right`: the reward of the right answer, and no less. `time`: any verdict in time.
 */
export type Entitled = 'nothing' | 'wrong' | 'right' | 'time'

/** What tries to earn more than it deserves. */
export interface AttackClass {
  /** `family/name`. */
  readonly id: string
  readonly family: string
  readonly against: 'judge' | 'rule' | 'cost'
  /** The answer's place holds the right value alone; the response takes it back or contradicts it elsewhere. */
  readonly isOutside?: boolean
}

/** A text, or the turns of a rollout. */
export type Made = string | readonly Message[]

/** A response that tries to earn more than it deserves. Pure. */
export interface Attack extends AttackClass {
  readonly entitled: Entitled
  /** null if it does not apply to the row or would be right by accident. */
  make(subject: Subject): Made | null
}

/** Writes one text. */
export type TextMaker = (subject: Subject) => string | null

/** An attack by one text. */
export interface TextAttack extends Attack {
  make: TextMaker
}

/** Makes a family of attacks, by name. */
export function family(
  name: string,
  against: Attack['against'],
  entitled: Entitled,
  makers: Readonly<Record<string, TextMaker>>,
): readonly TextAttack[] {
  return Object.entries(makers).map(([title, make]) => ({
    id: `${name}/${title}`,
    family: name,
    against,
    entitled,
    make,
  }))
}

/** The result of one attack on one row. */
export interface Trial {
  readonly row: string
  readonly attack: AttackClass
  /** The scored text, of a rollout all its turns. */
  readonly response: string
  /** Of a rollout: its turns. The last one of the assistant is the response. */
  readonly turns?: readonly Message[]
  /** A right answer in the same form. */
  readonly original: string
  /** null if invalid. */
  readonly reward: number | null
  readonly failure: FailureKind | null
  /** It earned more than it deserves (`right`: less). */
  readonly succeeded: boolean
  /** It earned at least as much as the right answer of its row. */
  readonly paidInFull: boolean
  /** It ignores the task and needs no knowledge of the row's ground truth. */
  readonly ignoresTask: boolean
}

/** The rewards of the honest answers to one row. null if invalid or absent. */
export interface Baseline {
  readonly row: string
  /** False if the right answer earns no more than the worst text. The row then says nothing about attacks. */
  readonly isPaid: boolean
  readonly right: number | null
  readonly near: number | null
  readonly nothing: number | null
}

/** A row whose response is a right answer, with wrong answers if it has any. */
export type AuditRow = Pick<KnownAnswers, 'sample' | 'nearMisses'> & Partial<Pick<KnownAnswers, 'rollout'>>

/**
 * The row's sample with another answer. If the row is a rollout, the answer takes the place of its last turn, so that a
 * reward that also pays earlier turns and calls sees them.
 */
export function answeredWith({ sample, rollout }: AuditRow, made: Made): Sample {
  const before = turnsBefore(rollout)
  if (typeof made !== 'string') return { ...sample, ...rolloutOf([...before, ...made]) }
  if (before.length === 0) return { ...sample, response: made }
  return { ...sample, ...rolloutOf([...before, { role: 'assistant', content: made }]) }
}

function turnsBefore(rollout: Sample | null | undefined): readonly Message[] {
  const turns = rollout?.turns ?? []
  return turns.slice(
    0,
    Math.max(
      0,
      turns.findLastIndex(({ role }) => role === 'assistant'),
    ),
  )
}

/** Given near misses take precedence over one that is made by changing the right answer's value. */
export function subjectOf({ sample, nearMisses }: AuditRow): Subject {
  const truth = truthText(sample.groundTruth)
  const wrong = truth === null ? null : differentText(truth)
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

/**
 * Another text of the same kind: the next number, the next letter of A to E, the opposite or another word.
 */
export function differentText(text: string, by = 1): string {
  const number = Number(text.replaceAll(',', ''))
  if (text !== '' && Number.isFinite(number)) return String(number + by)
  if (/^[A-E]$/.test(text)) return 'ABCDE'[('ABCDE'.indexOf(text) + by) % 5] ?? 'A'
  const opposite = opposites[text.toLowerCase()]
  if (opposite) return text === text.toUpperCase() ? opposite.toUpperCase() : opposite
  return ['Timbuktu', 'heliotrope', 'seventeen'][by % 3] ?? 'Timbuktu'
}

/**
 * Replaces every occurrence of the value as a token, otherwise the last number. null if the text has neither.
 */
function replaced(text: string, value: string, other: string): string | null {
  if (hasToken(text, value)) return text.replace(tokenPattern(value), () => other)
  const numbers = [...text.matchAll(/-?\d[\d,]*(?:\.\d+)?/g)]
  const last = numbers.at(-1)
  if (!last || !Number.isFinite(Number(other))) return null
  return text.slice(0, last.index) + other + text.slice(last.index + last[0].length)
}

/** True if the value occurs in the text without letters or digits around it. */
export const hasToken = (text: string, value: string): boolean =>
  value !== '' && tokenPattern(value).test(text)

/** Every occurrence of the value without letters or digits around it. */
export const tokenPattern = (value: string): RegExp =>
  new RegExp(
    `(?<![\\p{L}\\p{N}.,]|\\p{N}[.,])${value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?!\\p{L}|\\p{N}|[.,]\\p{N})`,
    'gu',
  )

/**
 * Reads the first `limit` rows of a file. Throws RG_INPUT_INVALID if it cannot be read or a row has no right
 * answer.
 */
export async function readAuditRows(
  path: string,
  stdin: NodeJS.ReadableStream,
  limit: number,
  { steps }: Pick<Plan, 'steps'>,
): Promise<readonly AuditRow[]> {
  const modelSteps = modelStepNames(steps)
  const rows: AuditRow[] = []
  const invalid = (why: string) => new GatewayError('RG_INPUT_INVALID', `${path}: ${why}`)
  for await (const raw of eachRow(await openRows(path, stdin))) {
    if (rows.length >= limit) break
    const known = knownAnswers(raw, rows.length, modelSteps, null)
    const row = `row ${rows.length + 1}`
    if (typeof known === 'string') throw invalid(`${row}: ${known}`)
    if (known.gold === null)
      throw invalid(`${row} has no right answer, neither as its response nor in extra_info.answer`)
    const { sample } = known
    const response = asResponse(sample.response, steps, sample.dataSource)
    rows.push({ ...known, sample: { ...sample, response } })
  }
  if (rows.length === 0) throw invalid('has no rows')
  return rows
}
