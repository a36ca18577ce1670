/**
 * Packages that a default install leaves out: together they are twice as large as everything else. Each is loaded by
 * the first command that needs it. If it is missing, RG_COMMAND_INVALID names the command that installs it.
 */

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { GatewayError } from '../core/errors.ts'
import { codeOf, reasonOf } from '../core/system-error.ts'

/** What needs which packages, as `npm i` takes them. */
export const optionalPackages = {
  'Parquet files and the analysis of scored files': ['@duckdb/node-api'],
  Plots: ['echarts@6'],
  'PNG files': ['echarts@6', '@resvg/resvg-wasm@2', '@fontsource/arimo@5'],
} as const

export const loadDuckDb = () =>
  import('@duckdb/node-api').catch(unavailable('Parquet files and the analysis of scored files'))

/** Takes most of a second. */
export const loadECharts = () => import('echarts').catch(unavailable('Plots'))

let resvg: Promise<typeof import('@resvg/resvg-wasm')> | undefined

/** resvg as WebAssembly, initialised once in a process. */
export function loadResvg(): Promise<typeof import('@resvg/resvg-wasm')> {
  resvg ??= (async () => {
    const loaded = await import('@resvg/resvg-wasm')
    await loaded.initWasm(await fileOf('@resvg/resvg-wasm/index_bg.wasm'))
    return loaded
  })().catch(unavailable('PNG files'))
  return resvg
}

const fontFiles = ['latin', 'latin-ext', 'greek', 'cyrillic'].flatMap((script) =>
  ['400', '700'].map((weight) => `@fontsource/arimo/files/arimo-${script}-${weight}-normal.woff2`),
)

/** Arimo, which has Arial's widths: Latin, Greek and Cyrillic letters, regular and bold. */
export const loadFonts = (): Promise<readonly Uint8Array[]> =>
  Promise.all(fontFiles.map(fileOf)).catch(unavailable('PNG files'))

const require = createRequire(import.meta.url)

const fileOf = async (specifier: string): Promise<Uint8Array> => readFile(require.resolve(specifier))

const unavailable = (purpose: keyof typeof optionalPackages) => (cause: unknown) => {
  const install = `npm i ${optionalPackages[purpose].join(' ')}`
  const isMissing = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(codeOf(cause))
  const why = isMissing ? 'that a default install leaves out' : `that cannot be loaded (${reasonOf(cause)})`
  throw new GatewayError('RG_COMMAND_INVALID', `${purpose} need packages ${why}: ${install}`, { cause })
}
