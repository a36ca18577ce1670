import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { trainerFormats } from '../../src/trainers/index.ts'
import { runCommand } from '../support/command-line.ts'

const files = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending) && !name.includes('node_modules'))
    .map((name) => join(folder, name))
const outer = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']
const pages = [...outer, 'clients/python/README.md', 'reward-functions/README.md', ...files('docs', '.md')]
const texts = new Map(pages.map((page) => [page, readFileSync(page, 'utf8')]))

const withoutBlocks = (text: string) => text.replace(/^```.*?^```$/gms, '')
const linksOf = (text: string) =>
  [...withoutBlocks(text).matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link)

/** The names that a page's headings have in addresses, as GitHub makes them. */
const anchorsOf = (text: string) =>
  [...withoutBlocks(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )

/** What stands as code: fenced and indented lines, continued ones joined, and spans. */
function codeOf(text: string): string[] {
  const joined = text.replace(/\\\n\s*/g, ' ')
  const blocks = [...joined.matchAll(/^```.*?\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.split('\n'))
  const rest = withoutBlocks(joined)
  const indented = rest.split('\n').filter((line) => line.startsWith('    '))
  return [...blocks, ...indented, ...[...rest.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)]
}

t.test('every link of a page leads to a file, and to a heading where it names one', async (t) => {
  for (const [page, text] of texts)
    for (const link of linksOf(text)) {
      if (/^[a-z]+:/.test(link)) continue
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : join(dirname(page), path)
      if (!existsSync(target)) t.fail(`${page}: ${link}`)
      else if (anchor && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor))
        t.fail(`${page}: ${link}: no such heading`)
    }
  t.ok(
    linksOf(texts.get('README.md') ?? '').includes('docs/index.md'),
    'README.md leads to the list of all pages',
  )
  const listed = linksOf(texts.get('docs/index.md') ?? '').map((link) => join('docs', link))
  for (const page of files('docs', '.md'))
    t.ok(page === 'docs/index.md' || listed.includes(page), `docs/index.md leads to ${page}`)
  const shown = [...texts].flatMap(([page, text]) => linksOf(text).map((link) => join(dirname(page), link)))
  for (const picture of files('docs/images', '')) t.ok(shown.includes(picture), `a page shows ${picture}`)
})

t.test('every script that a page tells to run exists', async (t) => {
  const scriptsOf = (file: string) => Object.keys(JSON.parse(readFileSync(file, 'utf8')).scripts)
  const [root, bench] = [scriptsOf('package.json'), scriptsOf('bench/package.json')]
  let seen = 0
  for (const [page, text] of texts)
    for (const code of codeOf(text)) {
      for (const [, prefix, name = ''] of code.matchAll(
        /\bnpm (?:--prefix (\S+) )?run (?:--silent )?([a-z][\w:-]*)/g,
      )) {
        seen += 1
        const known = prefix === 'bench' ? bench : [...root, ...bench]
        if (!known.includes(name)) t.fail(`${page}: ${code}`)
      }
      for (const [, path = ''] of code.matchAll(/\bdist\/(\S+)\.js\b/g))
        if (!existsSync(`${path}.ts`)) t.fail(`${page}: ${code}`)
    }
  t.ok(seen > 30)
})

t.test('every file of the project that a page or a message names exists', async (t) => {
  const roots = 'src|test|bench|docker|docs|rm-configs|suites|clients|reward-functions|\\.ci'
  const named = new RegExp(String.raw`(?<![\w./$-])(?:${roots})/[\w./-]*\w`, 'g')
  let seen = 0
  for (const [page, text] of texts) {
    // What a recipe lets its reader write.
    const written = new Set([...text.matchAll(/^```\w+ (\S+)$/gm)].map(([, file = '']) => file))
    for (const code of codeOf(text))
      for (const [path] of code.matchAll(named)) {
        seen += 1
        if (!/\/\.(?:venv|vitepress\/dist)/.test(path) && !written.has(path) && !existsSync(path))
          t.fail(`${page}: ${path}`)
      }
  }
  t.ok(seen > 50, `${seen} files are named`)
  let told = 0
  for (const file of [...files('src', '.ts'), ...files('src', '.tsx')])
    for (const [page] of readFileSync(file, 'utf8').matchAll(/\bdocs\/[a-z-/]+\.md\b/g)) {
      told += 1
      if (!existsSync(page)) t.fail(`${file}: ${page}`)
    }
  t.ok(told > 5, `messages name ${told} pages`)
})

t.test(
  'every trainer path that a page names is served, and every module of the Python client is there',
  (t) => {
    const served = new Set(trainerFormats.map(({ name }) => name))
    let modules = 0
    for (const [page, text] of texts) {
      for (const [, name = ''] of text.matchAll(/(?<!\b(?:src|test))\/wire\/([a-z][\w-]*)/g))
        if (!served.has(name)) t.fail(`${page}: /wire/${name}`)
      for (const [, name = ''] of text.matchAll(/\breward_gateway_client\.([a-z]\w*)/g)) {
        modules += 1
        if (!existsSync(`clients/python/src/reward_gateway_client/${name}.py`))
          t.fail(`${page}: reward_gateway_client.${name}`)
      }
    }
    t.ok(modules > 0, 'a page names a module')
    for (const name of served) t.match(texts.get('docs/trainers.md'), `/wire/${name}/`)
    t.end()
  },
)

t.test('every command and option that a page names is in the help', async (t) => {
  const list = (await runCommand(['--help'])).stdout
  // Longer names first: `prepare subset` is not `prepare`.
  const commands = [...list.matchAll(/^ {2}([a-z]+(?: [a-z]+)?) {2}/gm)]
    .map(([, name = '']) => name)
    .sort((a, b) => b.length - a.length)
  const optionsIn = (text: string) => text.match(/(?<=^|[\s[|(])--[a-z][\w-]*/g) ?? []
  const known = new Map<string, readonly string[]>()
  for (const name of commands) known.set(name, optionsIn((await runCommand([name, '--help'])).stdout))
  const called = new RegExp(
    String.raw`(?:\breward-gateway |\bmain\.js |^)(${commands.join('|')})( [^|;&]*|$)`,
    'g',
  )
  let seen = 0
  for (const [page, text] of texts)
    for (const code of codeOf(text)) {
      for (const [, name = ''] of code.matchAll(/(?:^|\/|npx )reward-gateway ([a-z]+)\b/g))
        if (!commands.includes(name) && name !== 'help') t.fail(`${page}: ${code}`)
      for (const [, name = '', rest = ''] of code.matchAll(called))
        for (const option of optionsIn(rest)) {
          seen += 1
          if (!known.get(name)?.includes(option) && option !== '--help') t.fail(`${page}: ${code}: ${option}`)
        }
    }
  t.ok(seen > 100)
})

t.test(
  'workflows run what exists, pin each action by its commit, and need no secret of the repository',
  async (t) => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>
    }
    const names = readdirSync('.github/workflows')
    t.strictSame(names.sort(), ['ci.yaml', 'nightly.yaml', 'release.yaml'])
    for (const name of names) {
      const text = readFileSync(join('.github/workflows', name), 'utf8')
      t.match(text, /^permissions: \{\}$/m, `${name} has no permission but those that a job names`)
      for (const [line, pin = ''] of text.matchAll(/uses: \S+?@(.*)$/gm))
        t.match(pin, /^[0-9a-f]{40} # v\d+\.\d+\.\d+$/, `${name}: ${line}`)
      for (const [, secret] of text.matchAll(/secrets\.(\w+)/g)) t.equal(secret, 'GITHUB_TOKEN', name)
      for (const [, script = ''] of text.matchAll(/npm run ([\w:-]+)/g))
        t.ok(Object.hasOwn(scripts, script), `${name}: ${script}`)
      for (const [, file = ''] of text.matchAll(/(?:bash|node) ([\w./-]*\/[\w./-]+)/g))
        t.ok(existsSync(file), `${name}: ${file}`)
    }
  },
)
