import { loadFonts, loadResvg } from '../optional-packages.ts'
import { type RenderedChart, renderCharts } from './chart.ts'
import type { Report } from './report.ts'
import { type ReportTable, readingTable } from './tables.ts'

/** The formats, which are also the file endings. */
export const reportFormats = ['html', 'md', 'svg', 'png'] as const
export type ReportFormat = (typeof reportFormats)[number]

/** Renders a report. `svg` and `png` contain only the plots. Only formats with plots load ECharts. */
export async function renderReport(report: Report, format: ReportFormat): Promise<string | Uint8Array> {
  if (format === 'md') return markdownOf(report)
  // Loaded first, so that one error names every missing package.
  if (format === 'png') await Promise.all([loadResvg(), loadFonts()])
  const drawings = await renderCharts(report.charts)
  if (format === 'html') return htmlOf(report, drawings)
  const sheet = sheetOf(drawings)
  return format === 'svg' ? sheet : pngOf(sheet)
}

/** Plots are drawn for a light ground and keep it in a dark theme. */
const pageStyle = `:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,Arial,Helvetica,sans-serif;color:#222;color:light-dark(#222,#e7e7ea);background:#fff;background:light-dark(#fff,#16171a);max-width:1440px;margin:0 auto;padding:16px}
h1{font-size:24px}h2{font-size:18px;margin:28px 0 8px}p{margin:6px 0}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,560px),1fr));gap:16px}
figure{margin:0;border:1px solid #ddd;border-radius:6px;padding:8px;min-width:0;color:#222;background:#fff}figure.wide{grid-column:1/-1}
figure svg{display:block;max-width:100%;height:auto;margin:auto}figcaption{font-size:13px;color:#555}
.table{overflow-x:auto}table{border-collapse:collapse;font-size:14px}
p,code{overflow-wrap:anywhere}
th,td{border-bottom:1px solid #8884;padding:4px 10px;text-align:left;unicode-bidi:isolate;overflow-wrap:anywhere;min-width:14ch;max-width:60ch;vertical-align:top}
th{background:#8882}th.n,td.n{min-width:0}th.n,td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}`

/** A self-contained page without scripts or links. Its content security policy forbids both. */
function htmlOf(report: Report, drawings: readonly RenderedChart[]): string {
  const { title, written, files, readings, tables } = report
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>${escapedHtml(title)}</title>
<style>${pageStyle}</style>
</head>
<body>
<main>
<h1>${escapedHtml(title)}</h1>
${
  written === null
    ? ''
    : `<p>${escapedHtml(written)}</p>
`
}${files.map((file) => `<p>${escapedHtml(file)}</p>`).join('\n')}
${htmlReadings(readings)}
<h2>Plots</h2>
<div class="plots">
${drawings.map(figureOf).join('\n')}
</div>
${tables.map(htmlTable).join('\n')}
</main>
</body>
</html>
`
}

function htmlReadings(readings: Report['readings']): string {
  if (readings === null) return ''
  if (readings.length > 0) return htmlTable(readingTable(readings))
  return '<h2>What stands out</h2>\n<p>Every figure that has a threshold is within it.</p>'
}

const figureOf = ({ svg, title, note, width }: RenderedChart): string =>
  `<figure${width > 700 ? ' class="wide"' : ''}>${svg.replace('<svg ', `<svg role="img" aria-label="${escapedHtml(title)}" `)}<figcaption>${escapedHtml(note)}</figcaption></figure>`

function htmlTable({ title, columns, rows, note }: ReportTable): string {
  const kind = (at: number) => (columns[at]?.right ? ' class="n"' : '')
  const head = columns
    .map((column, at) => `<th scope="col"${kind(at)}>${escapedHtml(column.title)}</th>`)
    .join('')
  const body = rows.map(
    (row) => `<tr>${row.map((cell, at) => `<td${kind(at)}>${escapedHtml(cell)}</td>`).join('')}</tr>`,
  )
  return `<h2>${escapedHtml(title)}</h2>
<div class="table" tabindex="0" role="region" aria-label="${escapedHtml(title)}"><table>
<thead><tr>${head}</tr></thead>
<tbody>
${body.join('\n')}
</tbody></table></div>${
    note === undefined
      ? ''
      : `
<p>${escapedHtml(note)}</p>`
  }`
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML, on one line. Control characters and bidirectional overrides become U+FFFD. */
const escapedHtml = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/gu, '\u{FFFD}')
    .replace(/[&<>"']/g, (sign) => entities[sign] ?? '')

/** The tables as Markdown, without the plots. */
function markdownOf({ title, written, files, readings, tables }: Report): string {
  return [
    `# ${escapedMarkdown(title)}\n`,
    ...(written === null ? [] : [`${escapedMarkdown(written)}\n`]),
    `${files.map((file) => `- ${escapedMarkdown(file)}`).join('\n')}\n`,
    ...markdownReadings(readings),
    ...tables.map(markdownTable),
  ].join('\n')
}

function markdownReadings(readings: Report['readings']): readonly string[] {
  if (readings === null) return []
  if (readings.length > 0) return [markdownTable(readingTable(readings))]
  return ['## What stands out\n\nEvery figure that has a threshold is within it.\n']
}

function markdownTable({ title, columns, rows, note }: ReportTable): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escapedMarkdown).join(' | ')} |`
  const rule = `|${columns.map(({ right }) => (right ? ' ---: |' : ' --- |')).join('')}`
  return `## ${escapedMarkdown(title)}\n\n${[line(columns.map((column) => column.title)), rule, ...rows.map(line)].join('\n')}\n${note === undefined ? '' : `\n${escapedMarkdown(note)}\n`}`
}

/** Escapes text for Markdown, on one line: no markup, links or HTML. */
const escapedMarkdown = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cs}\s\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .replace(/[\\`*_{}[\]#!|~$]/g, (sign) => `\\${sign}`)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('://', ':&#8203;//')

const [fullWidth, gap] = [1400, 20]

/** Combines the plots in one SVG document. Narrow plots share a row. */
function sheetOf(drawings: readonly RenderedChart[]): string {
  let [x, y, rowHeight] = [0, 0, 0]
  const placed: string[] = []
  for (const { svg, width, height } of drawings) {
    if (x > 0 && x + width > fullWidth) {
      ;[x, y, rowHeight] = [0, y + rowHeight + gap, 0]
    }
    placed.push(svg.replace('<svg ', `<svg x="${x}" y="${y}" `))
    x += width + gap
    rowHeight = Math.max(rowHeight, height)
  }
  const height = y + rowHeight
  return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${fullWidth}" height="${height}" viewBox="0 0 ${fullWidth} ${height}">
<rect width="${fullWidth}" height="${height}" fill="#fff"/>
${placed.join('\n')}
</svg>
`
}

/**
 * Renders an SVG as a PNG at 1.5 times its size (the published sheet: 2100 x 1500). System fonts are not
 * needed.
 */
export async function pngOf(svg: string): Promise<Uint8Array> {
  const [{ Resvg }, fontBuffers] = await Promise.all([loadResvg(), loadFonts()])
  const family = 'Arimo'
  const resvg = new Resvg(svg, {
    background: '#fff',
    fitTo: { mode: 'zoom', value: 1.5 },
    font: { fontBuffers: [...fontBuffers], defaultFontFamily: family, sansSerifFamily: family },
  })
  try {
    const image = resvg.render()
    try {
      return image.asPng()
    } finally {
      image.free()
    }
  } finally {
    resvg.free()
  }
}
