import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { GatewayError } from '../../core/errors.ts'

/** ECharts; it takes most of a second to load, so only what draws asks for it. */
export const openECharts = () => import('echarts').catch(missing('echarts'))

const fontFiles = ['latin', 'latin-ext', 'greek', 'cyrillic'].flatMap((script) =>
  ['400', '700'].map((weight) => `@fontsource/arimo/files/arimo-${script}-${weight}-normal.woff2`),
)

let opened: Promise<typeof import('@resvg/resvg-wasm')> | undefined

/** resvg as WebAssembly, set up once a process. */
export function openResvg(): Promise<typeof import('@resvg/resvg-wasm')> {
  opened ??= (async () => {
    const resvg = await import('@resvg/resvg-wasm')
    await resvg.initWasm(await fileOf('@resvg/resvg-wasm/index_bg.wasm'))
    return resvg
  })().catch(missing('@resvg/resvg-wasm'))
  return opened
}

/** Arimo, whose letters are as wide as Arial's: of latin, greek and cyrillic script, regular and bold. */
export const openFonts = (): Promise<readonly Uint8Array[]> =>
  Promise.all(fontFiles.map(fileOf)).catch(missing('@fontsource/arimo'))

const require = createRequire(import.meta.url)

const fileOf = async (specifier: string): Promise<Uint8Array> => readFile(require.resolve(specifier))

const missing = (name: string) => (cause: unknown) => {
  throw new GatewayError('RG_COMMAND_INVALID', `this needs the package ${name}: npm install ${name}`, {
    cause,
  })
}
