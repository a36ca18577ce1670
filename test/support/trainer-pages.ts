import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { keptTable } from '../trainers/recorded.ts'

const folder = 'docs/trainers'

/** The pages of docs/trainers: paths and texts. */
export const trainerPages = (): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder)
      .sort()
      .map((file) => [join(folder, file), readFileSync(join(folder, file), 'utf8')]),
  )

/** Each page with its own part of two tables: of docs/trainer-failures.md, and of what was recorded. */
export async function completePages(): Promise<ReadonlyMap<string, string>> {
  const failures = tableOf(readFileSync('docs/trainer-failures.md', 'utf8'), 'trainer')
  const kept = tableOf(await keptTable(), 'trainer')
  return new Map(
    [...trainerPages()].map(([file, page]) => {
      const columns = tableOf(page, 'what is wrong')[0]?.slice(1) ?? []
      const rows = tableOf(page, 'trainer').map(([name = '']) => name)
      const withFailures =
        columns.length === 0 ? page : replaced(page, 'what is wrong', turned(failures, columns))
      const some = kept.filter(([name = ''], at) => at === 0 || rows.includes(name))
      return [file, rows.length === 0 ? withFailures : replaced(withFailures, 'trainer', some)]
    }),
  )
}

/** The columns of a page's table of failures and the rows of its table of what arrives: the names of the trainer in both. */
export const namesOn = (
  page: string,
): { readonly failing: readonly string[]; readonly recorded: readonly string[] } => ({
  failing: tableOf(page, 'what is wrong')[0]?.slice(1) ?? [],
  recorded: tableOf(page, 'trainer')
    .slice(1)
    .map(([name = '']) => name),
})

type Cells = readonly (readonly string[])[]

/** The cells of the table whose first column has this title, without the line under the titles. */
function tableOf(text: string, title: string): Cells {
  const [table = ''] = tableFrom(title).exec(text) ?? []
  const lines = table.split('\n').filter((line) => line !== '')
  return lines
    .filter((_, at) => at !== 1)
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
}

const tableFrom = (title: string): RegExp => new RegExp(`^\\| ${title} \\|.*\\n(?:\\|.*\\n)+`, 'm')

function replaced(text: string, title: string, [titles = [], ...rows]: Cells): string {
  const lines = [titles, titles.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`)
  return text.replace(tableFrom(title), () => lines.join(''))
}

/** What trainers do, a trainer a column: what goes wrong, then with which version, and what of the trainer did not run. */
function turned([titles = [], ...rows]: Cells, names: readonly string[]): Cells {
  const found = names.map((name) => {
    const row = rows.find(([first]) => first === name)
    if (!row) throw new Error(`docs/trainer-failures.md has no row ${name}`)
    return row
  })
  const [version, day, last] = [titles.indexOf('version'), titles.indexOf('run on'), titles.length - 1]
  return [
    ['what is wrong', ...names],
    ...titles.flatMap((title, at) =>
      at <= day || at === last ? [] : [[title, ...found.map((row) => row[at] ?? '')]],
    ),
    ['run with', ...found.map((row) => `${row[version]}, ${row[day]}`)],
    ['stand-ins', ...found.map((row) => row[last] ?? '')],
  ]
}
