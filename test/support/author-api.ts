/** docs/api.md: what TypeScript declares of the names that authors import, with their doc comments. Reads dist/src/*.d.ts. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const entries = [
  ['reward-gateway/contract', 'contract/index', 'What a reward function is made with, and what it gets.'],
  [
    'reward-gateway/grading',
    'grading/readers',
    'Readers of answers. They are pure and never throw, and hostile text costs them at most n log n.',
  ],
  ['reward-gateway/testing', 'contract/testing', 'Contract tests for your functions.'],
  ['reward-gateway', 'index', 'The gateway as a library, without HTTP.'],
] as const

interface Declared {
  readonly name: string
  readonly comment: string
  readonly text: string
}

/** The declarations of a file, in its order. Overloads are one. */
function declarationsOf(file: string): readonly Declared[] {
  const found = new Map<string, Declared>()
  const text = readFileSync(file, 'utf8')
  // tsc begins each statement in the first column, and no other line but one that closes it.
  const statement =
    /^(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?(export (?:declare )?(?:abstract )?(?:function|const|class|interface|type) ([\w$]+).*\n(?:(?:[ \t].*|[^a-z\s/].*)\n)*)/gm
  for (const [, comment = '', body = '', name = ''] of text.matchAll(statement)) {
    const before = found.get(name)
    const own = body.replace(/^export (?:declare )?/, '').trimEnd()
    found.set(name, {
      name,
      comment: before?.comment || comment,
      text: before ? `${before.text}\n${own}` : own,
    })
  }
  return [...found.values()]
}

/** The names of an entry with their declarations: `define*`, what else can be called, then types. */
function namesOf(entry: string): readonly Declared[] {
  const file = `dist/src/${entry}.d.ts`
  const lists = [...readFileSync(file, 'utf8').matchAll(/^export (?:type )?\{([^}]*)\} from '(.+)'/gm)]
  const listed = lists.flatMap(([, names = '', from = '']) => {
    const all = declarationsOf(join(dirname(file), from.replace(/\.ts$/, '.d.ts')))
    const wanted = names.split(',').map((name) => name.trim().replace(/^type /, ''))
    return all.filter(({ name }) => wanted.includes(name))
  })
  const every = [...listed, ...declarationsOf(file)]
  const isCalled = ({ text }: Declared) => /^(?:function|const|class)/.test(text)
  const rank = (one: Declared) => (one.name.startsWith('define') ? 0 : isCalled(one) ? 1 : 2)
  return every.toSorted((a, b) => rank(a) - rank(b))
}

function sectionOf({ name, comment, text }: Declared): string {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, ''))
  const [about = '', example] = lines
    .join('\n')
    .trim()
    .split(/^@example\n/m)
  const parts = [`### ${name}`, about.trim(), `\`\`\`ts\n${withoutComments(text)}\n\`\`\``]
  if (example !== undefined) parts.push('For example:', example.trim())
  return parts.filter((part) => part !== '').join('\n\n')
}

/** Comments of members stay, on one line where they fit. */
const withoutComments = (text: string): string =>
  text
    .replace(/^( *)\/\*\*\n((?: +\*.*\n)+?) +\*\/$/gm, (_, indent: string, body: string) =>
      body.replace(/^ +\* ?/gm, `${indent}// `).trimEnd(),
    )
    .replace(/^( *)\/\*\* (.*) \*\/$/gm, '$1// $2')

export function authorPage(): string {
  const shown = new Set<string>()
  const sections = entries.flatMap(([entry, file, about]) => {
    const names = namesOf(file).filter(({ name }) => !shown.has(name))
    for (const { name } of names) shown.add(name)
    return [`## ${entry}`, about, ...names.map(sectionOf)]
  })
  const title = '# Function API'
  const about =
    'What authors of [rules](recipes/add-a-rule.md) and [judges](recipes/add-a-judge.md) import. Written by `npm run generate`, from the code.'
  return `${[title, about, ...sections].join('\n\n')}\n`
}
