import type { Part } from '../analysis/policy-comparison.ts'
import { figureNames } from '../analysis/prompt-figures.ts'
import { type FigureTable, figureColumn } from './figure-table.ts'
import {
  commonK,
  estimateText,
  figuresIn,
  figureTitle,
  isClear,
  partTitle,
  policyText,
} from './policy-figures.ts'

/** One policy: a line a part. */
export function evaluationTable(parts: readonly Part[]): FigureTable {
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

/** Several policies: a table a part, a line a figure, each later policy with its difference from the first. */
export function comparisonTables(parts: readonly Part[], names: readonly string[]): readonly FigureTable[] {
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
