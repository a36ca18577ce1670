/** The pages of the site: those that docs/index.md links to, in its order and under its headings. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))
const index = 'docs/index.md'

interface Section {
  readonly title: string
  /** `file`: from the root of the repository. */
  readonly pages: readonly { readonly title: string; readonly file: string }[]
}

export const sections: readonly Section[] = readFileSync(join(root, index), 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((text) => ({
    title: text.slice(0, text.indexOf('\n')),
    pages: [...text.matchAll(/^- \[([^\]]+)\]\(([^)#]+\.md)\)/gm)].map(([, title = '', link = '']) => ({
      title,
      file: normalize(join('docs', link)),
    })),
  }))

/** The files of all pages, from the root of the repository. */
export const files: readonly string[] = [index, ...sections.flatMap(({ pages }) => pages.map(({ file }) => file))]

for (const name of readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }))
  if (name.endsWith('.md') && !name.startsWith('.') && !files.includes(join('docs', name)))
    throw new Error(`docs/${name} is in no section of ${index}: add a line to one of its lists`)

/** Where a file's page lies on the site, without the ending. null: it is no page. */
export function pageOf(file: string): string | null {
  if (!files.includes(file)) return null
  const path = file.replace(/^docs\//, '').replace(/\.md$/, '')
  return path.replace(/\/README$/, '').toLowerCase()
}
