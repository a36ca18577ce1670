import { type ConfusionFigures, confusionFigures } from '../../core/statistics/accuracy.ts'
import { wilson } from '../../core/statistics/intervals.ts'

/** What a judge said of a row. */
export interface Said {
  /** null: it gave no score. */
  readonly score: number | null
  /** 0 to 1; null: it told none, and the score tells none. */
  readonly confidence: number | null
  /** Of its questions about the row; null: unknown. */
  readonly tokens: number | null
}

/** A row with people's label. `said`: by judge. */
export interface LabelledRow {
  readonly label: boolean
  readonly said: readonly Said[]
}

/** A judge. `price`: of a token, or of a row if the tokens of a judge are unknown. */
export interface NamedJudge {
  readonly name: string
  readonly price: number
}

export interface JudgeFigures extends ConfusionFigures {
  readonly name: string
  /** Labelled rows without a score. */
  readonly unscored: number
  /** 95 %, of the accuracy. */
  readonly interval: readonly [low: number, high: number]
  /** Mean of a row. */
  readonly tokens: number | null
  /** Mean of a row. */
  readonly cost: number
}

/** How two judges agree. Shares of the rows that all judges scored. */
export interface Agreement {
  readonly judges: readonly [string, string]
  readonly same: number
  readonly kappa: number
  readonly onlyFirstRight: number
  readonly onlySecondRight: number
  readonly bothWrong: number
}

/** The first judge alone, except for rows with a confidence below `below`, which get the second one's verdict. */
export interface CascadePoint {
  readonly below: number
  /** Share of the rows that the second judge is asked about. */
  readonly escalated: number
  readonly accuracy: number
  /** Means of a row, both judges together. */
  readonly tokens: number | null
  readonly cost: number
}

/**
 * `first`: the first judge alone is as accurate as the second. `cascade`: it pays. `second`: no bound makes the cascade as
 * accurate as the second judge for less. `unsure`: the first judge's confidences do not differ.
 */
export type CascadeAdvice = 'first' | 'cascade' | 'second' | 'unsure'

export interface Cascade {
  readonly first: string
  readonly second: string
  readonly advice: CascadeAdvice
  /** By rising bound. */
  readonly points: readonly CascadePoint[]
  /** The cheapest that is as accurate as the second judge; else the most accurate. null: there is none. */
  readonly best: CascadePoint | null
}

export interface JudgeComparison {
  readonly rows: number
  /** Rows that every judge scored. All figures are of these. */
  readonly common: number
  readonly threshold: number
  /** Whether costs are tokens times price; otherwise rows times price. */
  readonly isByTokens: boolean
  readonly judges: readonly JudgeFigures[]
  readonly agreements: readonly Agreement[]
  /** Of each cheaper judge with each dearer one. */
  readonly cascades: readonly Cascade[]
}

const mostBounds = 20

/** Throws RangeError if no row has a score of every judge. */
export function compareJudges(
  judges: readonly NamedJudge[],
  rows: readonly LabelledRow[],
  threshold: number,
): JudgeComparison {
  const common = rows.filter(({ said }) => said.every(({ score }) => score !== null))
  if (common.length === 0) throw new RangeError('no labelled row has a score of every judge')
  const isByTokens = common.every(({ said }) => said.every(({ tokens }) => tokens !== null))
  const columns = judges.map(({ price }, at) => columnOf(common, at, threshold, price, isByTokens))
  const labels = common.map(({ label }) => label)
  const figures = judges.map(({ name }, at) => {
    const { yes, tokens, cost } = columns[at] as Column
    const right = yes.filter((one, row) => one === labels[row]).length
    return {
      name,
      unscored: rows.filter(({ said }) => said[at]?.score === null).length,
      ...figuresOf(yes, labels),
      interval: wilson(right, common.length),
      tokens: tokens === null ? null : meanOf(tokens),
      cost: meanOf(cost),
    }
  })
  const pairs = judges.flatMap((_judge, a) =>
    judges.slice(a + 1).map((_other, at) => [a, a + 1 + at] as const),
  )
  const costOf = (at: number): number => figures[at]?.cost ?? 0
  const nameOf = (at: number): string => judges[at]?.name ?? ''
  return {
    rows: rows.length,
    common: common.length,
    threshold,
    isByTokens,
    judges: figures,
    agreements: pairs.map(([a, b]) => ({
      judges: [nameOf(a), nameOf(b)],
      ...agreementOf((columns[a] as Column).yes, (columns[b] as Column).yes, labels),
    })),
    cascades: pairs
      .map(([a, b]) => (costOf(b) < costOf(a) ? ([b, a] as const) : ([a, b] as const)))
      .map(([first, second]) => ({
        first: nameOf(first),
        second: nameOf(second),
        ...cascadeOf(columns[first] as Column, columns[second] as Column, labels),
      })),
  }
}

/** What a judge said of the common rows, in their order. */
interface Column {
  readonly yes: readonly boolean[]
  /** null: some rows tell none. */
  readonly confidences: readonly number[] | null
  readonly tokens: readonly number[] | null
  readonly cost: readonly number[]
}

function columnOf(
  rows: readonly LabelledRow[],
  at: number,
  threshold: number,
  price: number,
  isByTokens: boolean,
): Column {
  const said = rows.map((row) => row.said[at] as Said)
  const confidences = said.flatMap(({ confidence }) => confidence ?? [])
  const tokens = said.flatMap((one) => one.tokens ?? [])
  return {
    yes: said.map(({ score }) => (score ?? 0) >= threshold),
    confidences: confidences.length === said.length ? confidences : null,
    tokens: tokens.length === said.length ? tokens : null,
    cost: said.map((one) => price * (isByTokens ? (one.tokens ?? 0) : 1)),
  }
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

const shareOf = (flags: readonly boolean[]): number => flags.filter(Boolean).length / flags.length

function figuresOf(yes: readonly boolean[], labels: readonly boolean[]): ConfusionFigures {
  const count = (said: boolean, label: boolean) =>
    yes.filter((one, at) => one === said && labels[at] === label).length
  return confusionFigures({
    truePositive: count(true, true),
    falsePositive: count(true, false),
    trueNegative: count(false, false),
    falseNegative: count(false, true),
  })
}

function agreementOf(
  a: readonly boolean[],
  b: readonly boolean[],
  labels: readonly boolean[],
): Omit<Agreement, 'judges'> {
  const { accuracy: same, kappa } = figuresOf(a, b)
  const share = (isA: boolean, isB: boolean) =>
    shareOf(labels.map((label, at) => (a[at] === label) === isA && (b[at] === label) === isB))
  return {
    same,
    kappa,
    onlyFirstRight: share(true, false),
    onlySecondRight: share(false, true),
    bothWrong: share(false, false),
  }
}

function cascadeOf(
  first: Column,
  second: Column,
  labels: readonly boolean[],
): Pick<Cascade, 'advice' | 'points' | 'best'> {
  const { confidences } = first
  const accuracyOf = ({ yes }: Column) => shareOf(yes.map((one, at) => one === labels[at]))
  const [own, wanted] = [accuracyOf(first), accuracyOf(second)]
  const points = (confidences === null ? [] : boundsOf(confidences)).map((below): CascadePoint => {
    const isAsked = (confidences ?? []).map((confidence) => confidence < below)
    const both = (one: readonly number[], two: readonly number[]) =>
      meanOf(one.map((value, at) => value + (isAsked[at] ? (two[at] ?? 0) : 0)))
    return {
      below,
      escalated: shareOf(isAsked),
      accuracy: shareOf(labels.map((label, at) => (isAsked[at] ? second : first).yes[at] === label)),
      tokens: first.tokens && second.tokens && both(first.tokens, second.tokens),
      cost: both(first.cost, second.cost),
    }
  })
  const paying = points.filter(({ accuracy, cost }) => accuracy >= wanted && cost < meanOf(second.cost))
  const best =
    paying.length > 0
      ? paying.reduce((found, one) => (one.cost < found.cost ? one : found))
      : points.reduce<CascadePoint | null>(
          (found, one) => (found === null || one.accuracy > found.accuracy ? one : found),
          null,
        )
  const advice =
    own >= wanted ? 'first' : points.length === 0 ? 'unsure' : paying.length > 0 ? 'cascade' : 'second'
  return { advice, points, best }
}

/** Bounds that split the rows: the confidences but the lowest, at most so many. */
function boundsOf(confidences: readonly number[]): readonly number[] {
  const all = [...new Set(confidences)].sort((a, b) => a - b).slice(1)
  const step = Math.max(1, all.length / mostBounds)
  return Array.from({ length: Math.min(all.length, mostBounds) }, (_, at) => all[Math.floor(at * step)] ?? 0)
}
