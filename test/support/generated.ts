import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { RewardFunction } from '../../src/contract/index.ts'
import { builtInFolder } from '../../src/scoring/functions/discover.ts'
import { configSchemas } from '../../src/scoring/plan/gateway-config.ts'
import type { TrainerFormat } from '../../src/trainers/format.ts'
import { trainerFormats } from '../../src/trainers/index.ts'
import { keptTable } from '../trainers/recorded.ts'
import { alertsPage } from './alerts-page.ts'
import { commandsPage, routesPage } from './reference-pages.ts'
import { completePages } from './trainer-pages.ts'
import { wholeConfigPage } from './whole-config.ts'

/** What the code says of itself in other files; `npm run generate` writes them, tests compare them. */
export async function generated(): Promise<ReadonlyMap<string, string>> {
  const schemas = Object.entries(configSchemas()).map(
    ([name, schema]) => [join('rm-configs', name), `${JSON.stringify(schema, null, 2)}\n`] as const,
  )
  return new Map([
    ...schemas,
    [functionsPage, await functionTable()],
    ['docs/trainers.md', await trainerTables()],
    ...(await completePages()),
    ['docs/cli.md', await commandsPage()],
    ['docs/http.md', await routesPage()],
    ['docs/alerts.md', alertsPage()],
    ['docs/gateway-yaml.md', wholeConfigPage()],
    [trainerIndexFile, trainerIndex()],
  ])
}

/** The source that lists the formats of every file in src/trainers. */
export const trainerIndexFile = 'src/trainers/index.ts'

/** Read from the files, so that it is right before it is compiled. */
export function trainerIndex(): string {
  const found = readdirSync('src/trainers').flatMap((file) => {
    if (!file.endsWith('.ts')) return []
    const source = readFileSync(join('src/trainers', file), 'utf8')
    const names = [...source.matchAll(/^export const (\w+): TrainerFormat = /gm)]
      .map(([, name = '']) => name)
      .sort()
    return names.length === 0 ? [] : [{ file, names }]
  })
  const imports = [
    `import type { TrainerFormat } from './format.ts'\n`,
    ...found.map(({ file, names }) => `import { ${names.join(', ')} } from './${file}'\n`),
  ]
  const fileOf = (line: string): string => line.slice(line.indexOf('./'))
  imports.sort((a, b) => (fileOf(a) < fileOf(b) ? -1 : 1))
  const names = found.flatMap((one) => one.names).sort()
  return `// Written by \`npm run generate\`.
${imports.join('')}
/** Every trainer's format that is served. */
export const trainerFormats: readonly TrainerFormat[] = [
${names.map((name) => `  ${name},\n`).join('')}]
`
}

/** Its table has every function of the package. */
export const functionsPage = 'reward-functions/README.md'

/** The package's functions by name, in this thread. */
export async function builtInFunctions(): Promise<ReadonlyMap<string, RewardFunction>> {
  const files = readdirSync(builtInFolder).filter((file) => file.endsWith('.js'))
  return new Map(
    await Promise.all(
      files.sort().map(async (file) => {
        const module: { default: RewardFunction } = await import(
          pathToFileURL(join(builtInFolder, file)).href
        )
        return [basename(file, '.js'), module.default] as const
      }),
    ),
  )
}

/** The names of a function's options. */
export const optionsOf = ({ options }: RewardFunction): readonly string[] =>
  Object.keys(z.toJSONSchema(options, { io: 'input', unrepresentable: 'any' }).properties ?? {})

/** The page with a row for each function: those that stand there, and drafts of the missing ones. */
async function functionTable(): Promise<string> {
  const rows = [...(await builtInFunctions())].map(([name, fn]) => {
    const options = optionsOf(fn).join(', ') || 'none'
    return [`\`${name}\``, `| \`${name}\` | ${summaryOf(name)} | ${rangeOf(fn)} | ${options} | ? |`] as const
  })
  return withRows(readFileSync(functionsPage, 'utf8'), 0, new Map(rows))
}

function rangeOf(fn: RewardFunction): string {
  try {
    return fn.range(fn.options.parse({})).join(' to ')
  } catch {
    return '?'
  }
}

/** The doc comment of a function's default export. */
function summaryOf(name: string): string {
  const source = readFileSync(join('reward-functions', `${name}.ts`), 'utf8')
  const [above = ''] = source.split('export default', 1)
  const comment = above.slice(above.lastIndexOf('/**') + 3).split('*/', 1)[0] ?? ''
  return comment
    .replace(/\s*\n\s*\*\s?/g, ' ')
    .trim()
    .replace(/\.$/, '')
    .replaceAll('|', '\\|')
}

const addressOf = ({ name, routes }: TrainerFormat): string =>
  Object.keys(routes)
    .map((path) => `\`http://gateway:8080/wire/${name}/{reward}${path}\``)
    .join(' or ')

/** The page with both rows of each trainer. */
async function trainerTables(): Promise<string> {
  const page = readFileSync('docs/trainers.md', 'utf8')
  const addresses = trainerFormats.map((format) => {
    const [route] = Object.values(format.routes)
    const [trainer = '', setting = '?'] = route?.summary.split(/: (.*)/) ?? []
    return [`/wire/${format.name}/{reward}`, `| ${trainer} | ${setting} | ${addressOf(format)} |`] as const
  })
  const deadlines = trainerFormats.map(({ name, deadlineS, routes }) => {
    const says = [...new Set(Object.values(routes).map(({ invalid }) => invalid))].join('; ')
    const waits = deadlineS === null ? 'waits forever' : `waits more than ${deadlineS} s`
    return [`\`${name}\``, `| \`${name}\` | ${deadlineS ?? 'none'} | ${waits} | ${says} |`] as const
  })
  const complete = withRows(withRows(page, 0, new Map(addresses)), 1, new Map(deadlines))
  const kept = await keptTable()
  return complete.replace(/^\| trainer \| recorded from .*\n(?:\|.*\n)+/m, () => kept)
}

/** A page whose nth table has a row that holds each key; what is missing is added at its end. */
function withRows(page: string, table: number, rows: ReadonlyMap<string, string>): string {
  const tables = [...page.matchAll(/(?:^\|.*\n)+/gm)]
  const found = tables[table]
  if (!found) return page
  const missing = [...rows].filter(([key]) => !found[0].includes(key)).map(([, row]) => `${row}\n`)
  const end = found.index + found[0].length
  return page.slice(0, end) + missing.join('') + page.slice(end)
}
