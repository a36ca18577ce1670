import {
  openInstructScore,
  rewardkitValues,
  verifiersVerdicts,
} from '../../src/grading/rubric/published-replies.ts'
import {
  healthBenchScore,
  openInstructShare,
  type RarCategory,
  type RewardkitSum,
  rarShare,
  rarWeights,
  rewardkitScore,
  rewardkitSums,
} from '../../src/grading/rubric/sums.ts'
import { aggregateVotes, type Vote } from '../../src/scoring/engine/judge/votes.ts'
import { type Adapter, raises, wanted } from './vector.ts'

interface Criterion {
  readonly name: string
  readonly weight?: unknown
  readonly choices?: readonly string[]
}

interface Entry {
  readonly name: string
  readonly value: number
  readonly weight: number
  readonly optional: boolean
}

interface RewardkitItem {
  readonly name: string
  readonly type: 'binary' | 'likert' | 'numeric' | 'rubric'
  readonly negate: boolean
  readonly optional: boolean
  readonly weight: number
  readonly points?: number
  readonly min?: number
  readonly max?: number
  readonly levels?: readonly string[]
}

const sumNamed = (name: string): RewardkitSum => {
  const found = rewardkitSums.find((one) => one === name.replaceAll('_', '-'))
  if (!found) throw new Error(`no sum ${name}`)
  return found
}

/** A score, or the error that published code throws in its place. */
const orRaises = (score: number | null): unknown => score ?? raises

const weightIn = (value: unknown): number => {
  if (typeof value !== 'number' || !(value >= 0 && Number.isFinite(value))) throw new Error('a weight')
  return value
}

/** verifiers' file of criteria, which it checks before it asks. */
function verifiersJudge(input: Readonly<Record<string, unknown>>): unknown {
  const criteria = input.criteria as readonly Criterion[]
  const weights = new Map(Object.entries((input.weights ?? {}) as Record<string, unknown>))
  const replies = input.replies as readonly string[]
  const all = criteria.map(({ name, weight = 1, choices = ['no', 'yes'] }) => {
    const own = weightIn(weight)
    if (choices.length < 2 || new Set(choices).size < choices.length) throw new Error('the choices')
    return { name, choices, weight: weightIn(weights.get(name) ?? own) }
  })
  const names = new Set(all.map(({ name }) => name))
  if (names.size < all.length || [...weights.keys()].some((name) => !names.has(name)))
    throw new Error('a name')
  const size = Number(input.max_criteria ?? all.length)
  const scores = new Map<string, number>()
  for (let at = 0; at * size < all.length; at++) {
    const batch = all.slice(at * size, (at + 1) * size)
    const verdicts = verifiersVerdicts(replies[at] ?? '', batch)
    if (!verdicts) return raises
    for (const [name, score] of verdicts) scores.set(name, score)
  }
  const score = rarShare(all.map(({ name, weight }) => ({ weight, score: scores.get(name) ?? Number.NaN })))
  return score === null ? raises : { score, by_name: Object.fromEntries(scores) }
}

function rewardkitJudge(input: Readonly<Record<string, unknown>>): unknown {
  const items = input.criteria as readonly RewardkitItem[]
  const criteria = items.map(({ name, type, negate, points = 5, min = 0, max = 1, levels = [] }) => ({
    name,
    negate,
    form: { type, points, min, max, levels: levels.length },
  }))
  const values = rewardkitValues(String(input.reply), criteria)
  if (!values) return raises
  const score = rewardkitScore(
    items.map(({ weight, optional }, at) => ({ weight, optional, score: values[at] ?? Number.NaN })),
    sumNamed(String(input.aggregation)),
    Number(input.threshold),
  )
  if (score === null) return raises
  return { values: Object.fromEntries(items.map(({ name }, at) => [name, values[at]])), score }
}

/** What came of each criterion, over all runs. */
interface Median {
  readonly name: string
  /** null: no run has a value. rewardkit then keeps 0 beside its error. */
  readonly value: number | null
}

/** Runs of one judge, each with the same criteria: its votes, as a step with `votes.aggregate: lower_median` adds them up. */
const rewardkitMedian = (runs: readonly (readonly Run[])[]): readonly Median[] =>
  (runs[0] ?? []).map(({ name }, column) => {
    const votes = runs.map((run): Vote => {
      const { value = 0, error = null } = run[column] ?? {}
      return error === null ? { model: 'm', status: 'read', verdicts: [{ value }] } : { model: 'm', ...lost }
    })
    const step = { models: ['m'], onUnreadable: 'fail', votes: medianVotes } as const
    const found = aggregateVotes(step, votes, 0, runs.length)
    return { name, value: found.status === 'scored' ? found.score.value : null }
  })

const medianVotes = { n: 1, aggregate: 'lower_median', min: 1, earlyStop: false } as const
const lost = {
  status: 'failed',
  failure: { kind: 'judge_timeout', retryable: true, detail: 'it was lost' },
} as const

/** Its agreement and its list of samples are for people: the gateway has the spread of the votes. */
const medianOf = (expected: readonly (Run & { readonly error: string | null })[]): readonly Median[] =>
  expected.map(({ name, value, error }) => ({ name, value: error === null ? value : null }))

interface Run {
  readonly name: string
  readonly value: number
  readonly error?: string | null
}

interface OpenInstructItem {
  readonly weight?: number
  readonly description?: string
  readonly rubric_item?: string
  readonly Ingredient?: string
}

/** The label is an object or its JSON. A failed call and an item without a text are what they are there. */
function openInstructRubric({ label, replies }: Readonly<Record<string, unknown>>): number {
  const { rubrics } = readLabel(label)
  const said = new Map(Object.entries(replies as Record<string, string | null>))
  if (!Array.isArray(rubrics)) return 0
  return openInstructShare(
    (rubrics as readonly OpenInstructItem[]).flatMap((item) => {
      const text = item.description ?? item.rubric_item ?? item.Ingredient ?? ''
      if (text === '') return []
      return [{ weight: item.weight ?? 1, score: openInstructScore(said.get(text) ?? '') }]
    }),
  )
}

function readLabel(label: unknown): { readonly rubrics?: unknown } {
  try {
    return ((typeof label === 'string' ? JSON.parse(label) : label) ?? {}) as { readonly rubrics?: unknown }
  } catch {
    return {}
  }
}

interface Met {
  readonly category: RarCategory
  readonly met: boolean
}

/** Rubric judges of 2025 and 2026: verifiers, rewardkit, HealthBench, Open-Instruct, Rubrics as Rewards. */
export const rubricVectors: Adapter = {
  wanted(vector, mode) {
    if ((vector.expected as { readonly error?: unknown } | null)?.error === true) return raises
    const all = wanted(vector, mode)
    return vector.function === 'rewardkit_median' ? medianOf(all as Parameters<typeof medianOf>[0]) : all
  },
  elsewhere: {
    healthbench_mean:
      "the mean of a run, clipped to 0 and 1, is its evaluation's: the gateway scores rows, and reports their mean unclipped",
  },
  answers: {
    verifiers_rubric_judge: ({ input }) => verifiersJudge(input),
    rewardkit_judge: ({ input }) => rewardkitJudge(input),
    rewardkit_aggregate: ({ input }) =>
      orRaises(
        rewardkitScore(
          (input.scores as readonly Entry[]).map((one) => ({ ...one, score: one.value })),
          sumNamed(String(input.aggregation)),
          Number(input.threshold),
        ),
      ),
    rewardkit_median: ({ input }) => rewardkitMedian(input.runs as readonly (readonly Run[])[]),
    healthbench_score: ({ input }) => {
      const met = input.criteria_met as readonly boolean[]
      const rubrics = input.rubrics as readonly { readonly points: number }[]
      return healthBenchScore(rubrics.map(({ points }, at) => ({ weight: points, score: Number(met[at]) })))
    },
    open_instruct_rubric: ({ input }) => openInstructRubric(input),
    rar_explicit: ({ input }) => {
      const given = input.category_weights as Readonly<Record<RarCategory, number>> | null
      const isUsual =
        given === null ||
        Object.entries(given).every(([name, weight]) => weight === rarWeights[name as RarCategory])
      if (!isUsual) throw new Error('other weights')
      return rarShare(
        (input.rubrics as readonly Met[]).map(({ category, met }) => ({
          weight: given === null ? 1 : rarWeights[category],
          score: Number(met),
        })),
      )
    },
  },
}
