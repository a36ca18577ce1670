/** docs/gateway-yaml.md: one gateway.yaml with every setting at its default, made of the tables of docs/configuration.md. */
import { readFileSync } from 'node:fs'

/** A setting, or a group of them. */
interface Entry {
  readonly name: string
  /** As the table has it; null: a group. */
  readonly row: { readonly byDefault: string; readonly meaning: string } | null
  readonly below: Entry[]
}

/** Settings that stand for a list or a map of the reader's. */
const apart = ['$schema', 'models', 'sandboxes', 'keys', 'trainers']

/** The settings of a section's first table, by their dots. */
function entriesOf(markdown: string, heading: string): readonly Entry[] {
  const section = markdown.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
  const rows =
    section
      .match(/(?:^\| `.*\n)+/m)?.[0]
      .trim()
      .split('\n') ?? []
  const all: Entry[] = []
  for (const line of rows) {
    const [path = '', byDefault = '', meaning = ''] = line.slice(2, -2).split(/ *(?<!\\)\| */)
    let level = all
    const names = path.replaceAll('`', '').split('.')
    for (const [at, name] of names.entries()) {
      let entry = level.find((one) => one.name === name)
      const row = at === names.length - 1 ? { byDefault: plain(byDefault), meaning: plain(meaning) } : null
      if (!entry) {
        entry = { name, row, below: [] }
        level.push(entry)
      }
      level = entry.below
    }
  }
  return all
}

/** Without Markdown. */
const plain = (text: string): string =>
  text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .replaceAll('\\|', '|')
    .trim()

const isLiteral = (text: string): boolean =>
  /^(?:-?\d[\d.]*|true|false|\[.*\]|[a-z][a-z_0-9]*)$/.test(text) &&
  !['none', 'nowhere', 'any', 'required'].includes(text)

const width = 110

function commented(text: string, indent: string): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(`${indent}# ${word}`)
  }
  return lines
}

/** A setting whose default is a value is written; the others are comments, and so are groups of `off`. */
function linesOf(entries: readonly Entry[], off: ReadonlySet<string>, indent = ''): readonly string[] {
  return entries.flatMap(({ name, row, below }): readonly string[] => {
    const about = row ? commented(row.meaning, indent) : []
    if (below.length > 0) {
      const lines = [...about, `${indent}${name}:`, ...linesOf(below, none, `${indent}  `)]
      const isOff = off.has(name) || !below.some(hasLiteral)
      return isOff ? lines.map((line) => `${indent}# ${line.slice(indent.length)}`) : lines
    }
    const byDefault = row?.byDefault ?? ''
    if (isLiteral(byDefault)) return [...about, `${indent}${name}: ${byDefault}`]
    return [...about, `${indent}# ${name}: (${byDefault === '' ? 'no default' : byDefault})`]
  })
}

const none: ReadonlySet<string> = new Set()

const hasLiteral = ({ row, below }: Entry): boolean =>
  below.length > 0 ? below.some(hasLiteral) : row !== null && isLiteral(row.byDefault)

/** Groups of settings that turn something on if they are there. */
const offGroups: ReadonlySet<string> = new Set([
  'canary',
  'record',
  'queue',
  'reload',
  'lifecycle',
  'chat_template',
  'service',
])

/** The whole file. Its one model has an address of the reader's. `off`: groups that are comments. */
export function wholeConfig(off = offGroups): string {
  const markdown = readFileSync('docs/configuration.md', 'utf8')
  const own = entriesOf(markdown, 'gateway.yaml').filter(({ name }) => !apart.includes(name))
  const model = entriesOf(markdown, 'A model').filter(
    ({ name }) => !['model', 'instances', 'sampling', 'service', 'chat_template'].includes(name),
  )
  return [
    ...linesOf(own, off),
    '',
    '# models that all rewards can use, by name',
    'models:',
    '  judge:',
    '    # the name under which its servers serve it',
    '    model: judge',
    '    # addresses of its servers',
    '    instances: [http://127.0.0.1:8101]',
    ...linesOf(model, off, '    '),
    '',
  ].join('\n')
}

/** docs/gateway-yaml.md */
export const wholeConfigPage = (): string => `# A whole gateway.yaml

Every setting that has a default, at that default: copy the lines that you change. Settings without a value stand as comments.
[Every setting](configuration.md) explains them in tables, with keys, sandboxes and sampling. Written by \`npm run generate\`.

\`\`\`yaml configs/gateway.yaml
${wholeConfig()}\`\`\`
`
