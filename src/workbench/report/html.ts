import type { Drawing } from './chart.ts'
import type { FigureTable } from './figure-table.ts'
import type { Report } from './report.ts'
import { readingTable } from './run-tables.ts'

const style = `:root{color-scheme:light}
body{font:15px/1.5 system-ui,Arial,Helvetica,sans-serif;color:#222;background:#fff;max-width:1440px;margin:0 auto;padding:16px}
h1{font-size:24px}h2{font-size:18px;margin:28px 0 8px}p{margin:6px 0}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,560px),1fr));gap:16px}
figure{margin:0;border:1px solid #ddd;border-radius:6px;padding:8px;min-width:0}figure.wide{grid-column:1/-1}
figure svg{display:block;max-width:100%;height:auto;margin:auto}figcaption{font-size:13px;color:#555}
.table{overflow-x:auto}table{border-collapse:collapse;font-size:14px}
th,td{border-bottom:1px solid #ddd;padding:4px 10px;text-align:left;unicode-bidi:isolate;overflow-wrap:anywhere;max-width:60ch;vertical-align:top}
th{background:#f4f5f7}th.n,td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}`

/** One page that holds everything: no script, no reference, and a policy that would refuse both. */
export function htmlOf(report: Report, drawings: readonly Drawing[]): string {
  const { title, files, readings, tables } = report
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<p>${files.length === 1 ? 'File' : 'Files'}: ${files.map((file) => `<code>${escaped(file)}</code>`).join(', ')}</p>
${standsOut(readings)}
<h2>Plots</h2>
<div class="plots">
${drawings.map(figureOf).join('\n')}
</div>
${tables.map(tableOf).join('\n')}
</body>
</html>
`
}

function standsOut(readings: Report['readings']): string {
  if (readings === null) return ''
  if (readings.length > 0) return tableOf(readingTable(readings))
  return '<h2>What stands out</h2>\n<p>Every figure that has a threshold is within it.</p>'
}

const figureOf = ({ svg, title, note, width }: Drawing): string =>
  `<figure${width > 700 ? ' class="wide"' : ''}>${svg.replace('<svg ', `<svg role="img" aria-label="${escaped(title)}" `)}<figcaption>${escaped(note)}</figcaption></figure>`

function tableOf({ title, columns, rows }: FigureTable): string {
  const kind = (at: number) => (columns[at]?.right ? ' class="n"' : '')
  const head = columns
    .map((column, at) => `<th scope="col"${kind(at)}>${escaped(column.title)}</th>`)
    .join('')
  const body = rows.map(
    (row) => `<tr>${row.map((cell, at) => `<td${kind(at)}>${escaped(cell)}</td>`).join('')}</tr>`,
  )
  return `<h2>${escaped(title)}</h2>
<div class="table" tabindex="0" role="region" aria-label="${escaped(title)}"><table>
<thead><tr>${head}</tr></thead>
<tbody>
${body.join('\n')}
</tbody></table></div>`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text of a row as HTML that shows it, on one line; control characters and turns of direction are shown as marks. */
const escaped = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/gu, '\u{FFFD}')
    .replace(/[&<>"']/g, (sign) => entities[sign] ?? '')
