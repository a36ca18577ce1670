/** The colours of the published sheet's measures. */
export const measures = {
  accuracy: '#1f77b4',
  reward: '#2ca02c',
  smoothed: '#d62728',
  gradient: '#9467bd',
  entropy: '#ff7f0e',
} as const

const series = ['#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e', '#17becf', '#8c564b', '#e377c2']

/** A colour for the n-th of several files or runs; the ninth looks like the first. */
export const seriesColor = (at: number): string => series[at % series.length] ?? '#555'

/** Of letters. */
export const ink = '#333'
/** Of lines behind the data. */
export const faint = '#e3e6ea'

/** A text from a file as a plot can carry it: one line, `most` characters. */
export function plotLabel(text: string, most = 40): string {
  const letters = [...text.replace(/[\p{C}\s]+/gu, ' ')]
  return letters.length > most ? `…${letters.slice(1 - most).join('')}` : letters.join('')
}
