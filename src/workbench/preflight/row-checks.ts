import { createHash } from 'node:crypto'
import { nearestName } from '../../core/nearest-name.ts'
import { type Json, promptText, type Sample } from '../../core/sample/sample.ts'
import { type Criterion, holdsRubric, type Rubric, rubricOf } from '../../grading/index.ts'
import type { Plan } from '../../scoring/plan/plan.ts'
import { isObject } from '../dataset/row.ts'
import { type KnownAnswers, promptColumn } from '../dataset/samples.ts'
import type { Findings } from './finding.ts'
import { garbledPiece } from './garbled-text.ts'

/** A row and its position, which is also its sample's id. */
export interface Item extends KnownAnswers {
  /** The row number from 1: `12`, or `test.parquet:12` if there are several files. */
  readonly place: string
}

/** The prompt's messages. A text becomes a user message. */
export const turnsOf = ({ sample: { prompt } }: Item): readonly { role: string; content: string }[] =>
  typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt

/** Checks for the columns that trainers and the reward need, and for a data_source that a step accepts. */
export class ColumnCheck {
  readonly #plan: Plan
  readonly #findings: Findings
  readonly #missing = new Map<string, string[]>()
  #rows = 0

  constructor(plan: Plan, findings: Findings) {
    this.#plan = plan
    this.#findings = findings
  }

  look({ row, sample, place }: Item): void {
    this.#rows++
    const lacks = (column: string) => {
      const places = this.#missing.get(column)
      if (places) places.push(place)
      else this.#missing.set(column, [place])
    }
    if (promptColumn(row) === undefined) lacks('prompt')
    if (typeof row.data_source === 'string') this.#know(sample.dataSource ?? '', place)
    else if (isObject(row.reward_model) || this.#plan.steps.some(({ dataSource }) => dataSource !== null))
      lacks('data_source')
  }

  #know(source: string, place: string): void {
    const { steps } = this.#plan
    if (steps.some(({ dataSource }) => dataSource === null || dataSource.matches(source))) return
    const known = steps.flatMap(({ dataSource }) => dataSource?.patterns ?? [])
    const near = nearestName(source, known)
    const hint = near ? `; did you mean '${near}'?` : ` (they accept ${known.join(', ')})`
    this.#findings.add('unknown-data-source', `data_source '${source}' matches no step${hint}`, place)
  }

  end(): void {
    for (const [column, rows] of this.#missing) {
      const where = rows.length === this.#rows ? 'the column is missing' : 'some rows do not have it'
      this.#findings.addMany('missing-column', `${column}: ${where}`, { rows, count: rows.length })
    }
  }
}

const roles: ReadonlySet<string> = new Set(['system', 'developer', 'user', 'assistant', 'tool'])

/** Checks that the prompt has content, is a valid conversation and that all texts are readable. */
export function checkTexts(item: Item, findings: Findings): void {
  const { place, row, gold, sample } = item
  const turns = turnsOf(item)
  const said = turns.filter(({ role, content }) => role !== 'system' && content.trim() !== '')
  const hasPrompt = promptColumn(row) !== undefined
  if (said.length === 0 && hasPrompt) findings.add('empty-prompt', 'the prompt is empty', place)
  const unknown = turns.find(({ role }) => !roles.has(role))
  if (unknown)
    findings.add('chat-form', `the prompt has a turn with role '${unknown.role.slice(0, 40)}'`, place)
  if (said.length > 0 && turns.at(-1)?.role === 'assistant')
    findings.add('chat-form', 'the prompt ends with an assistant turn', place)
  const texts = [
    ['the prompt', promptText(turns)],
    ['the ground truth', typeof sample.groundTruth === 'string' ? sample.groundTruth : ''],
    ['the right answer', gold ?? ''],
    ['a judge prompt', [sample.rmPrompt ?? '', ...Object.values(sample.rmPrompts)].join('\n')],
  ] as const
  for (const [name, text] of texts) {
    const piece = garbledPiece(text)
    if (piece !== null) findings.add('garbled-text', `${name} has ${piece}`, place)
  }
}

/** A text of this length does not occur in a prompt by chance. */
const tellingLength = 20

const marks = [/####[ \t]*/g, /\\boxed\{/g, /<answer>\s*/g, /\b(?:answer|result|solution)\s*(?:is|:|=)\s*/gi]

/**
 * Checks whether the prompt reveals the answer. Assistant messages may contain it, because calls are
 * repeated.
 */
export function checkLeaks(item: Item, findings: Findings): void {
  const { place, gold, sample } = item
  const prompt = promptText(turnsOf(item).filter(({ role }) => role !== 'assistant'))
  const truth = typeof sample.groundTruth === 'number' ? String(sample.groundTruth) : sample.groundTruth
  const known = [
    ['the right answer', gold ?? ''],
    ['the ground truth', typeof truth === 'string' ? truth : ''],
  ] as const
  for (const [name, text] of known) {
    if (text.trim().length < tellingLength || !prompt.includes(text.trim())) continue
    findings.add('leaked-answer', `${name} occurs in the prompt`, place)
    return
  }
  if (typeof truth !== 'string' || truth.trim() === '' || truth.length >= tellingLength) return
  const stated = marks.some((mark) =>
    [...prompt.matchAll(mark)].some((found) => isNext(prompt, found, truth.trim())),
  )
  if (stated) findings.add('stated-answer', 'the prompt states the ground truth as the answer', place)
}

function isNext(prompt: string, { 0: mark, index }: RegExpExecArray, truth: string): boolean {
  const at = index + mark.length
  const after = prompt.slice(at + truth.length, at + truth.length + 2)
  return prompt.startsWith(truth, at) && !/^[\p{L}\p{N}]|^[.,]\p{N}/u.test(after)
}

/** Finds duplicate rows, also across files, and prompts with more than one ground truth or rubric. */
export class DuplicateCheck {
  readonly #findings: Findings
  readonly #readsRubrics: boolean
  readonly #known = new Map<string, { readonly truth: string; readonly rubric: string }>()

  /** `readsRubrics`: whether the reward judges by the rubrics of the rows. */
  constructor(findings: Findings, readsRubrics: boolean) {
    this.#findings = findings
    this.#readsRubrics = readsRubrics
  }

  look({ place, sample }: Item): void {
    if (sample.prompt.length === 0) return
    const asked = hashOf(sample.prompt)
    const own = this.#truthOf(sample)
    const before = this.#known.get(asked)
    if (before === undefined) this.#known.set(asked, own)
    else if (before.truth !== own.truth)
      this.#findings.add(
        'conflicting-rows',
        'an earlier row has the same prompt with another ground truth',
        place,
      )
    else if (before.rubric !== own.rubric)
      // Criteria do not contradict each other as two right answers do.
      this.#findings.add(
        'odd-rubric',
        'an earlier row has the same prompt with another rubric: equal answers earn different rewards',
        place,
      )
    else this.#findings.add('repeated-row', 'it repeats an earlier row', place)
  }

  #truthOf({ groundTruth, extraInfo }: Sample): { readonly truth: string; readonly rubric: string } {
    const { graph = null, exact_answer: exact = null } = extraInfo
    if (!this.#readsRubrics) return { truth: hashOf([groundTruth, graph, exact]), rubric: '' }
    const own = rubricOf({ groundTruth, extraInfo: {} })
    // One that cannot be read is reported apart.
    const isRubric = !('problem' in own) || holdsRubric(groundTruth)
    const rubric = isRubric ? own : rubricOf({ groundTruth, extraInfo })
    return { truth: hashOf([isRubric ? null : groundTruth, graph, exact]), rubric: hashOf(rubric) }
  }
}

const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64').slice(0, 22)

/** The functions that judge by a row's rubric. */
const rubricReaders = ['rubric-decisions', 'rubric-judge', 'rubric-judge-group']

/** Whether a step of the reward judges by the rubrics of the rows. */
export const readsRubrics = ({ steps }: Plan): boolean =>
  steps.some((step) => rubricReaders.includes(step.function.name))

/** Looks at the rubric of each row, if a step of the reward judges by it. Rubrics that cannot be read fail their questions. */
export class RubricCheck {
  readonly #steps: readonly { readonly name: string; readonly isPublished: boolean }[]
  readonly #findings: Findings

  constructor({ steps }: Plan, findings: Findings) {
    this.#steps = steps
      .filter((step) => rubricReaders.includes(step.function.name))
      .map(({ name, function: { options } }) => ({ name, isPublished: isPublished(options) }))
    this.#findings = findings
  }

  look({ sample, place }: Item): void {
    for (const { name, isPublished } of this.#steps) {
      const rubric = rubricOf(sample)
      if ('problem' in rubric) continue
      this.#findings.add('rubric', `step ${name}: ${outlineOf(rubric)}`, place)
      for (const message of [...oddities(rubric), ...(isPublished ? [] : unreadIn(rubric))])
        this.#findings.add('odd-rubric', `step ${name}: ${message}`, place)
    }
  }
}

const isPublished = (options: Json): boolean =>
  (options as { readonly mode?: unknown } | null)?.mode === 'published'

/** Published code reads other fields than the gateway does. */
const unreadIn = ({ unread }: Rubric): readonly string[] =>
  unread.length === 0
    ? []
    : [`fields of its criteria that nothing reads: ${unread.map((name) => JSON.stringify(name)).join(', ')}`]

/** Rows of one outline are reported together. */
function outlineOf({ form, criteria }: Rubric): string {
  const { length } = criteria
  const size = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].find((most) => length <= most) ?? length
  const from = size <= 2 ? size : size / 2 + 1
  const count = from === size ? `${size}` : `${from} to ${size}`
  return `form ${form}, ${count} ${size === 1 ? 'criterion' : 'criteria'}`
}

function oddities({ criteria }: Rubric): readonly string[] {
  const found: string[] = []
  if (criteria.every(({ weight }) => weight < 0))
    found.push('only faults: an answer that commits none earns all')
  const texts = new Set(criteria.map(({ text }) => text.trim()))
  if (texts.size < criteria.length) found.push('the same criterion twice: it counts twice')
  if (criteria.some(isDeniedFault))
    found.push(
      'a pitfall that says what the answer does not do has a negative weight: an answer that avoids it loses',
    )
  return found
}

/** A pitfall may be worded as a fault or as its absence; the sign of the weight must fit. */
const isDeniedFault = ({ category, text, weight }: Criterion): boolean =>
  category === 'Pitfall' && weight < 0 && /^[^:]{0,40}:\s{0,4}(?:does not|avoids|never)\b/i.test(text)
