import type { Estimate } from '../analysis/estimates.ts'
import type { Part } from '../analysis/policy-comparison.ts'
import { type FigureName, figureNames } from '../analysis/prompt-figures.ts'
import { figureColumn, numberText, type ReportTable } from './tables.ts'

/** The table of a single policy, with a line for each part. */
export function evaluationTable(parts: readonly Part[]): ReportTable {
  const k = commonK(parts)
  const figures = figureNames.filter((figure) => parts.some((part) => figuresIn(part).includes(figure)))
  const titles = ['prompts', 'answers', 'invalid', ...figures.map((figure) => figureTitle(figure, k))]
  return {
    title: 'Figures with 95 % intervals',
    columns: [{ title: '' }, ...titles.map(figureColumn)],
    rows: parts.flatMap((part) =>
      part.policies.map((policy) => [
        partTitle(part),
        ...[policy.prompts, policy.answers, policy.invalid].map(String),
        ...figures.map((figure) => policyText(figure, policy)),
      ]),
    ),
  }
}

/**
 * The tables of several policies: a table for each part, a line for each figure. Later policies show their
 * difference from the first.
 */
export function comparisonTables(parts: readonly Part[], names: readonly string[]): readonly ReportTable[] {
  const [base = '', ...others] = names
  const columns = [base, ...others.flatMap((name) => [name, `${name} - ${base}`])]
  return parts.map((part) => {
    const counted = (of: (policy: Part['policies'][number]) => number) =>
      part.policies.flatMap((policy, at) => (at === 0 ? [String(of(policy))] : [String(of(policy)), '']))
    const pairs = part.differences.flatMap(({ prompts }) => ['', String(prompts)])
    return {
      title: partTitle(part),
      columns: [{ title: partTitle(part) }, ...columns.map(figureColumn)],
      rows: [
        ...figuresIn(part).map((figure) => [
          figureTitle(figure, part.k),
          ...part.policies.flatMap((policy, at) => {
            const gap = at === 0 ? undefined : part.differences[at - 1]?.figures[figure]
            const own = policyText(figure, policy)
            return gap ? [own, `${estimateText(figure, gap, true)}${isClear(gap) ? ' *' : ''}`] : [own]
          }),
        ]),
        ['prompts', ...counted(({ prompts }) => prompts).map((text, at) => text || (pairs[at - 1] ?? ''))],
        ['answers', ...counted(({ answers }) => answers)],
        ['invalid', ...counted(({ invalid }) => invalid)],
      ],
    }
  })
}

/** The title of a figure, e.g. `pass@16`. */
export function figureTitle(figure: FigureName, k: number | null): string {
  switch (figure) {
    case 'mean':
      return 'mean score'
    case 'pass1':
      return 'pass@1'
    case 'passK':
      return `pass@${k ?? 'k'}`
    case 'majK':
      return `maj@${k ?? 'k'}`
    default:
      return figure
  }
}

/** The k of all parts. null if they differ. */
export function commonK(parts: readonly Part[]): number | null {
  const [k = null, ...others] = new Set(parts.map((part) => part.k))
  return others.length === 0 ? k : null
}

/** The title of a part, on one line. */
export function partTitle({ benchmark, source }: Pick<Part, 'benchmark' | 'source'>): string {
  if (benchmark === null) return 'all benchmarks'
  return plainName(source === null ? benchmark : `${benchmark}: ${source || '(none)'}`).slice(0, 80)
}

/** Replaces the control characters of a name, which could steer a terminal. */
export const plainName = (name: string): string => name.replace(/\p{Cc}/gu, '\ufffd')

const decimalsOf = (figure: FigureName): number => (figure === 'length' || figure === 'tokens' ? 1 : 4)

/** `0.412 [0.380, 0.446]`. `signed` adds a plus sign to positive values. */
function estimateText(figure: FigureName, { value, interval }: Estimate, signed = false): string {
  const text = (number: number | null) =>
    `${signed && number !== null && number > 0 ? '+' : ''}${numberText(number, decimalsOf(figure))}`
  return interval ? `${text(value)} [${text(interval[0])}, ${text(interval[1])}]` : text(value)
}

/** The estimate and, if there are several runs, their standard deviation: `0.412 [0.380, 0.446] sd 0.011`. */
function policyText(figure: FigureName, { figures, overRuns }: Part['policies'][number]): string {
  const runs = overRuns[figure]
  const spread = runs ? ` sd ${numberText(runs.deviation, decimalsOf(figure))}` : ''
  return `${estimateText(figure, figures[figure])}${spread}`
}

/** True if the interval excludes 0. */
const isClear = ({ interval }: Estimate): boolean => interval !== null && (interval[0] > 0 || interval[1] < 0)

/**
 * The figures that a policy of the part has. pass@k is left out if k is 1, `truncated` if no answer is
 * truncated.
 */
export const figuresIn = ({ policies, k }: Part): readonly FigureName[] =>
  figureNames.filter((figure) => {
    if (k === 1 && (figure === 'passK' || figure === 'majK')) return false
    const values = policies.map(({ figures }) => figures[figure].value)
    return values.some((value) => value !== null && (figure !== 'truncated' || value > 0))
  })
