import type { Estimate } from '../analysis/estimates.ts'
import type { Part } from '../analysis/policy-comparison.ts'
import { type FigureName, figureNames } from '../analysis/prompt-figures.ts'
import { figureColumn, numberText } from '../report/figure-text.ts'
import { textTable } from './table.ts'

/** What a figure is called: `pass@16`. */
export const figureTitle = (figure: FigureName, k: number | null): string => {
  const titles = { mean: 'mean score', pass1: 'pass@1', passK: `pass@${k ?? 'k'}`, majK: `maj@${k ?? 'k'}` }
  return figure in titles ? titles[figure as keyof typeof titles] : figure
}

/** A name that comes from files, without what would steer a terminal. */
export const plainName = (name: string): string => name.replace(/\p{Cc}/gu, '\ufffd')

/** A part as people name it. */
export const partTitle = ({ benchmark, source }: Pick<Part, 'benchmark' | 'source'>): string => {
  const name =
    benchmark === null
      ? 'all benchmarks'
      : source === null
        ? benchmark
        : `${benchmark}: ${source || '(none)'}`
  return plainName(name).slice(0, 80)
}

/** `0.412 [0.380, 0.446]`; lengths with one decimal. `signed`: a plus before what is above 0. */
export function estimateText(figure: FigureName, { value, interval }: Estimate, signed = false): string {
  const decimals = figure === 'length' || figure === 'tokens' ? 1 : 4
  const text = (number: number | null) =>
    `${signed && number !== null && number > 0 ? '+' : ''}${numberText(number, decimals)}`
  return interval ? `${text(value)} [${text(interval[0])}, ${text(interval[1])}]` : text(value)
}

/** True where the interval leaves 0 outside. */
export const isClear = ({ interval }: Estimate): boolean =>
  interval !== null && (interval[0] > 0 || interval[1] < 0)

/** Figures that any policy of a part has; pass@k only where k is more than 1, cut answers only where there are some. */
export const figuresIn = ({ policies, k }: Part): readonly FigureName[] =>
  figureNames.filter((figure) => {
    if (k === 1 && (figure === 'passK' || figure === 'majK')) return false
    const values = policies.map(({ figures }) => figures[figure].value)
    return values.some((value) => value !== null && (figure !== 'truncated' || value > 0))
  })

/** One policy: a line a part. */
export function evaluationText(parts: readonly Part[]): string {
  const ks = new Set(parts.map(({ k }) => k))
  const k = ks.size === 1 ? ([...ks][0] ?? null) : null
  const figures = figureNames.filter((figure) => parts.some((part) => figuresIn(part).includes(figure)))
  const columns = ['prompts', 'answers', 'invalid', ...figures.map((figure) => figureTitle(figure, k))]
  const rows = parts.flatMap((part) =>
    part.policies.map((policy) => [
      partTitle(part),
      ...[policy.prompts, policy.answers, policy.invalid].map(String),
      ...figures.map((figure) => estimateText(figure, policy.figures[figure])),
    ]),
  )
  return `${textTable([{ title: '' }, ...columns.map(figureColumn)], rows)}\n`
}

/** Several policies: a table a part, a line a figure. `names`: of the policies, in their order. */
export function comparisonText(parts: readonly Part[], names: readonly string[]): string {
  const [, ...others] = names
  const tables = parts.map((part) => {
    const [first, ...rest] = part.policies
    const columns = [names[0] ?? '', ...others.flatMap((name) => [name, `${name} - ${names[0]}`])]
    const rows = figuresIn(part).map((figure) => [
      figureTitle(figure, part.k),
      first ? policyText(figure, first) : '-',
      ...rest.flatMap((policy, at) => {
        const gap = part.differences[at]?.figures[figure] ?? { value: null, interval: null }
        return [policyText(figure, policy), `${estimateText(figure, gap, true)}${isClear(gap) ? ' *' : ''}`]
      }),
    ])
    const counts = part.policies.map(
      ({ prompts, answers, invalid }, at) =>
        `${names[at]}: ${prompts} prompts, ${answers} answers, ${invalid} invalid`,
    )
    const title = [{ title: partTitle(part) }, ...columns.map(figureColumn)]
    return `${textTable(title, rows)}\n${counts.join('; ')}\n`
  })
  return `${tables.join('\n')}\n* the 95 % interval of the difference leaves 0 outside\n`
}

function policyText(figure: FigureName, { figures, overRuns }: Part['policies'][number]): string {
  const runs = overRuns[figure]
  const spread = runs
    ? ` sd ${numberText(runs.deviation, figure === 'length' || figure === 'tokens' ? 1 : 4)}`
    : ''
  return `${estimateText(figure, figures[figure])}${spread}`
}
