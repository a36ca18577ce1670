import type { Judged, Verdict } from './policies.ts'
import { type ReplyForm, regexReply, type Scale } from './reply-form.ts'

type Schema = Readonly<Record<string, unknown>>

const deepest = 12

/**
 * A value that fits a JSON Schema and expresses the verdict: numbers and flags by the score, texts by the
 * reason.
 */
function jsonReply(schema: unknown, judged: readonly Judged[]): unknown {
  return fill(schema, judged, '', asSchema(schema), 0)
}

function fill(given: unknown, judged: readonly Judged[], name: string, root: Schema, depth: number): unknown {
  const schema = resolve(given, root)
  const [first = { score: 0, reason: '', label: '' }] = judged
  if (depth > deepest) return null
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return oneOf(schema.enum, name, candidateOf(name, judged))
  const [branch] = (schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []) as readonly unknown[]
  if (branch !== undefined) return fill(branch, judged, name, root, depth + 1)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'number' || type === 'integer') return numberFor(schema, candidateOf(name, judged), type)
  if (type === 'boolean') return first.score >= 0.5
  if (type === 'string') return stringFor(schema, name, first)
  if (type === 'array') return listFor(schema, judged, name, root, depth)
  if (type === 'null') return null
  const properties = asSchema(schema.properties)
  return Object.fromEntries(
    Object.entries(properties).map(([key, value]) => {
      const own = judged.filter(({ label }) => label !== '' && key === label)
      return [key, fill(value, own.length > 0 ? own : judged, key, root, depth + 1)]
    }),
  )
}

/** One entry per candidate, within the list's bounds. */
function listFor(
  schema: Schema,
  judged: readonly Judged[],
  name: string,
  root: Schema,
  depth: number,
): unknown[] {
  const most = typeof schema.maxItems === 'number' ? schema.maxItems : judged.length
  const least = typeof schema.minItems === 'number' ? schema.minItems : 0
  const length = Math.max(least, Math.min(most, judged.length))
  return Array.from({ length }, (_, index) => {
    const candidate = judged[index] ?? judged[0]
    return fill(schema.items ?? {}, candidate ? [candidate] : [], name, root, depth + 1)
  })
}

function numberFor(schema: Schema, { score, scale }: Judged, type: string): number {
  const low = typeof schema.minimum === 'number' ? schema.minimum : (scale?.[0] ?? 0)
  const high = typeof schema.maximum === 'number' ? schema.maximum : (scale?.[1] ?? Math.max(1, low + 1))
  const value = low + score * (high - low)
  return type === 'integer' ? Math.round(value) : value
}

function stringFor(schema: Schema, name: string, { score, reason }: Judged): string {
  const isVerdict = /verdict|grade|label|decision|judg|winner/iu.test(name)
  const text = isVerdict ? (score >= 0.5 ? 'correct' : 'incorrect') : reason
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : text.length
  const least = typeof schema.minLength === 'number' ? Math.min(schema.minLength, 10_000) : 0
  return text.slice(0, most).padEnd(least, '.')
}

const isName = /name|^id$|criterion/iu

/** The value that names a candidate, or that its score stands for. */
function oneOf(values: readonly unknown[], key: string, judged: Judged): unknown {
  const { label, score, choices = [] } = judged
  if (label !== '' && isName.test(key) && values.includes(label)) return label
  const own = choices.filter((choice) => values.includes(choice))
  return own.length > 1 ? ranked(own, score) : byScore(values, score)
}

/** The entry of a list from worst to best. */
const ranked = <T>(values: readonly T[], score: number): T | undefined =>
  values[Math.round(score * (values.length - 1))]

/** The value for a score. The better end is the largest number, true, yes or pass, or else the first entry. */
function byScore(values: readonly unknown[], score: number): unknown {
  const isRight = score >= 0.5
  if (values.every(isNumber))
    return ranked(
      [...values].sort((a, b) => Number(a) - Number(b)),
      score,
    )
  const words = isRight
    ? /^(?:1|yes|true|correct|right|pass|good)$/iu
    : /^(?:0|no|false|incorrect|wrong|fail|bad)$/iu
  return values.find((value) => words.test(String(value))) ?? (isRight ? values[0] : values.at(-1))
}

const isNumber = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && /^[+-]?\d+(?:\.\d+)?$/u.test(value))

function candidateOf(name: string, judged: readonly Judged[]): Judged {
  const named = judged.find(({ label }) => label !== '' && name.endsWith(label))
  return named ?? judged[0] ?? { score: 0, reason: '', label: '' }
}

function resolve(given: unknown, root: Schema): Schema {
  const schema = asSchema(given)
  if (typeof schema.$ref !== 'string' || !schema.$ref.startsWith('#/')) return schema
  let target: unknown = root
  for (const key of schema.$ref.slice(2).split('/')) {
    const parent = asSchema(target)
    target = Object.hasOwn(parent, key) ? parent[key] : undefined
  }
  return asSchema(target)
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? (value as Schema) : {}
}

/** The judge's text. `judged` has at least one entry, in the prompt's order. */
export function verdictText(form: ReplyForm, judged: readonly Judged[]): string {
  const [first = { score: 0, reason: '', label: '' }] = judged
  switch (form.kind) {
    case 'choice':
      return chooseLabel(form.labels, judged)
    case 'regex':
      return regexReply(form.pattern, candidates(first), (labels) => chooseLabel(labels, judged))
    case 'schema':
      return JSON.stringify(jsonReply(form.schema, judged))
    case 'json':
      return JSON.stringify(Object.fromEntries(form.keys.map((key) => [key, keyed(key, form.scale, judged)])))
    case 'rating':
      return `${first.reason}\nRating: [[${graded(first.score, form.scale)}]]`
    case 'pair':
      return `${first.reason}\n[[${chooseLabel(['A', 'B', 'C'], judged)}]]`
    case 'score':
      return `${first.reason}\nScore: ${graded(first.score, form.scale)}`
    case 'letters': {
      const isRight = first.score >= 0.5
      const meant = form.names.flatMap((name, at) => ((isRight ? isGood : isBad)(name) ? [at] : []))
      // Of several levels that sound so, the words do not tell which is meant.
      return form.labels.at(meant.length === 1 ? (meant[0] ?? 0) : isRight ? -1 : 0) ?? ''
    }
    case 'words':
      return first.score >= 0.5 ? form.yes : form.no
  }
}

/**
 * The label that expresses the verdict: a candidate's name, a number, a word for right or wrong, or else
 * first or last.
 */
export function chooseLabel(labels: readonly string[], judged: readonly Judged[]): string {
  const [first = ''] = labels
  const named = judged.filter(({ label }) => label !== '' && labels.includes(label))
  if (named.length > 1) return preferred(named) ?? labels.find(isTie) ?? named[0]?.label ?? first
  const score = judged[0]?.score ?? 0
  const numbers = labels.map(Number)
  if (numbers.every(Number.isFinite)) {
    const low = Math.min(...numbers)
    const wanted = low + score * (Math.max(...numbers) - low)
    const distances = numbers.map((value) => Math.abs(value - wanted))
    return labels[distances.indexOf(Math.min(...distances))] ?? first
  }
  const meant = labels.find((label) => (score >= 0.5 ? isGood(label) : isBad(label)))
  // C of A, B and C is neither right nor wrong.
  const worst = labels.findLast((label) => !isTie(label)) ?? first
  return meant ?? (score >= 0.5 ? first : worst)
}

function preferred(judged: readonly Judged[]): string | null {
  const best = Math.max(...judged.map(({ score }) => score))
  const winners = judged.filter(({ score }) => score === best)
  return winners.length === 1 ? (winners[0]?.label ?? null) : null
}

const isGood = (label: string): boolean =>
  /^\W{0,3}(?:yes|true|correct|right|pass|good|positive|是|正确)/iu.test(label)
const isBad = (label: string): boolean =>
  /^\W{0,3}(?:no|false|incorrect|wrong|fail|bad|negative|not|否|不正确|错误)/iu.test(label)
const isTie = (label: string): boolean => /^\W{0,3}(?:tie|C|equal|same|draw)\W{0,3}$/iu.test(label)

/** A score from 0 to 1 on a scale, with at most two decimals. */
function graded(score: number, [low, high]: Scale): string {
  return String(Math.round((low + score * (high - low)) * 100) / 100)
}

function keyed(key: string, scale: Scale, judged: readonly Judged[]): number | string {
  const [first = { score: 0, reason: '', label: '' }] = judged
  if (/reason|explan|comment|critique|feedback|rationale|分析|理由/iu.test(key)) return first.reason
  if (/winner|better|best|preferred|prefer/iu.test(key)) return preferred(judged) ?? 'tie'
  const candidate = judged.find(({ label }) => label !== '' && key.endsWith(label)) ?? first
  return Number(graded(goodness(key, candidate.score), scale))
}

/** A key that names a fault is high if the verdict is low. No answer is ever called harmful. */
function goodness(key: string, score: number): number {
  if (/harm|toxic|有害/iu.test(key)) return 0
  return /error|mistake|wrong|violation|错误/iu.test(key) ? 1 - score : score
}

/** From the widest scale down. The widest that a regex allows is the intended one. */
const scales: readonly Scale[] = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 100].map((high) => [0, high])

/** Texts that a regex for a verdict usually allows. */
function candidates({ score }: Verdict): string[] {
  const grades = [...scales.map((scale) => graded(score, scale)), score.toFixed(1)]
  const words =
    score >= 0.5
      ? ['yes', 'Yes', 'YES', 'true', 'CORRECT', 'correct']
      : ['no', 'No', 'NO', 'false', 'INCORRECT', 'incorrect']
  const said = grades.flatMap((grade) => [
    grade,
    `Score: ${grade}`,
    `[[${grade}]]`,
    `Rating: [[${grade}]]`,
    `<score>${grade}</score>`,
  ])
  return [...said, ...words]
}
