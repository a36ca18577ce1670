import { drawn } from './chart.ts'
import { htmlOf } from './html.ts'
import { markdownOf } from './markdown.ts'
import type { Report } from './report.ts'
import { pngOf, sheetOf } from './sheet.ts'

/** By the endings of files. */
export const reportFormats = ['html', 'md', 'svg', 'png'] as const
/** One of them. */
export type ReportFormat = (typeof reportFormats)[number]

/** A report as a file's content; `svg` and `png` are its plots alone. Only what has plots loads what draws them. */
export async function written(report: Report, format: ReportFormat): Promise<string | Uint8Array> {
  if (format === 'md') return markdownOf(report)
  const drawings = await drawn(report.charts)
  if (format === 'html') return htmlOf(report, drawings)
  const sheet = sheetOf(drawings)
  return format === 'svg' ? sheet : pngOf(sheet)
}
