import type { Drawing } from './chart.ts'
import { openFonts, openResvg } from './packages.ts'

const [fullWidth, gap] = [1400, 20]

/** All plots in one SVG document: wide ones alone, narrow ones two in a row. */
export function sheetOf(drawings: readonly Drawing[]): string {
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

/** An SVG as a PNG of one and a half times its size (the published sheet: 2100 x 1500); it needs no fonts of the system. */
export async function pngOf(svg: string): Promise<Uint8Array> {
  const [{ Resvg }, fontBuffers] = await Promise.all([openResvg(), openFonts()])
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
