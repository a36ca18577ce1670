import type { Part } from '../analysis/policy-comparison.ts'
import { escaped, forestPlot, type PlotLine } from './policy-plot.ts'
import { estimateText, figuresIn, figureTitle, isClear, partTitle } from './policy-text.ts'

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c}
table{border-collapse:collapse;margin:.5rem 0}th,td{padding:.25rem .75rem;text-align:right;border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left}.clear{font-weight:600}.note{color:#666}`

/** One page with everything in it: plots, then a table a part. Every name is escaped. */
export function comparisonHtml(parts: readonly Part[], names: readonly string[]): string {
  const [base = '', ...others] = names
  const head = ['', base, ...others.flatMap((name) => [name, `${name} − ${base}`])]
  const sections = parts.map((part) => {
    const rows = figuresIn(part).map((figure) => {
      const cells = part.policies.flatMap((policy, at) => {
        const own = cell(estimateText(figure, policy.figures[figure]))
        const gap = at === 0 ? undefined : part.differences[at - 1]?.figures[figure]
        return gap ? [own, cell(estimateText(figure, gap, true), isClear(gap))] : [own]
      })
      return `<tr><td>${escaped(figureTitle(figure, part.k))}</td>${cells.join('')}</tr>`
    })
    const counts = part.policies.map(
      ({ prompts, answers, invalid }, at) =>
        `${names[at]}: ${prompts} prompts, ${answers} answers, ${invalid} invalid`,
    )
    const titles = head.map((title) => `<th>${escaped(title)}</th>`).join('')
    return `<h2>${escaped(partTitle(part))}</h2><table><tr>${titles}</tr>${rows.join('')}</table><p class="note">${escaped(counts.join('; '))}</p>`
  })
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Policies compared</title><style>${style}</style></head><body>
<h1>Policies compared</h1>
<p class="note">With 95 % intervals; bold where that of a difference leaves 0 outside.</p>
${plotsOf(parts, names).join('\n')}
${sections.join('\n')}
</body></html>
`
}

const cell = (text: string, clear = false): string =>
  `<td${clear ? ' class="clear"' : ''}>${escaped(text)}</td>`

/** What each policy has, and how far it is from the first. */
function plotsOf(parts: readonly Part[], names: readonly string[]): readonly string[] {
  return (['mean', 'pass1', 'passK'] as const).flatMap((figure) => {
    const having = parts.filter((part) => figuresIn(part).includes(figure))
    const ks = new Set(having.map(({ k }) => k))
    const title = figureTitle(figure, ks.size === 1 ? ([...ks][0] ?? null) : null)
    const label = (part: Part, at: number) =>
      names.length > 1 ? `${partTitle(part)}, ${names[at]}` : partTitle(part)
    const own = having.flatMap((part) =>
      part.policies.map(
        ({ figures }, at): PlotLine => ({ label: label(part, at), series: at, estimate: figures[figure] }),
      ),
    )
    const gaps = having.flatMap((part) =>
      part.differences.map(
        ({ figures }, at): PlotLine => ({
          label: label(part, at + 1),
          series: at + 1,
          estimate: figures[figure],
        }),
      ),
    )
    return [
      forestPlot(title, own, false),
      forestPlot(`${title}: difference from ${names[0]}`, gaps, true),
    ].filter((plot) => plot !== '')
  })
}
