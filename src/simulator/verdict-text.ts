import { jsonReply } from './json-reply.ts'
import type { Judged, Verdict } from './policies/policy.ts'
import { regexReply } from './regex-reply.ts'
import type { ReplyForm, Scale } from './reply-form.ts'

/** What the judge writes: `judged` has at least one entry, in the prompt's order. */
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
    case 'words':
      return first.score >= 0.5 ? form.yes : form.no
  }
}

/** The label that says the verdict: a candidate's name, a number, a word for right or wrong, else first or last. */
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
  return meant ?? (score >= 0.5 ? first : (labels.at(-1) ?? first))
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

/** A score, 0 to 1, on a scale, in at most two decimals. */
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

/** A key that names a fault is high where the verdict is low; no answer is ever called harmful. */
function goodness(key: string, score: number): number {
  if (/harm|toxic|有害/iu.test(key)) return 0
  return /error|mistake|wrong|violation|错误/iu.test(key) ? 1 - score : score
}

/** From the widest scale down: the widest that a regex allows is the one it means. */
const scales: readonly Scale[] = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 100].map((high) => [0, high])

/** Texts that a regex for a verdict usually wants. */
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
