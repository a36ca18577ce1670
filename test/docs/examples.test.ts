import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import ts from 'typescript'

/** The package's entries, and the source of each. */
const entries = {
  'reward-gateway': 'src/index.ts',
  'reward-gateway/contract': 'src/contract/index.ts',
  'reward-gateway/grading': 'src/grading/readers.ts',
  'reward-gateway/testing': 'src/contract/testing.ts',
}

interface Example {
  /** File and line of its doc comment. */
  readonly place: string
  /** A path at the package's root where nothing is written. The compiler reads `text` from it. */
  readonly path: string
  readonly text: string
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file))

const examples = [
  'src/library.ts',
  'src/core/errors.ts',
  ...filesIn('src/contract'),
  ...filesIn('src/grading'),
].flatMap((file) => {
  const source = readFileSync(file, 'utf8')
  return [...source.matchAll(/^ \* ```ts\n(.*?)^ \* ```$/gms)].map(({ 1: block = '', index }): Example => {
    const line = source.slice(0, index).split('\n').length
    return {
      place: `${file}:${line}`,
      path: resolve(`example-${file.replaceAll('/', '-')}-${line}.mts`),
      text: `${block.replace(/^ \* ?/gm, '')}\nexport {}\n`,
    }
  })
})

function compilerSettings(): ts.CompilerOptions {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, '.')
  const settings: ts.CompilerOptions = {
    ...options,
    noEmit: true,
    incremental: false,
    allowImportingTsExtensions: true,
    types: ['node'],
    paths: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, [resolve(file)]])),
  }
  delete settings.tsBuildInfoFile
  return settings
}

function programOfExamples(): ts.Program {
  const settings = compilerSettings()
  const host = ts.createCompilerHost(settings)
  const { fileExists, readFile } = host
  const texts = new Map(examples.map(({ path, text }) => [path, text]))
  host.fileExists = (file) => texts.has(file) || fileExists(file)
  host.readFile = (file) => texts.get(file) ?? readFile(file)
  const sources = Object.values(entries).map((file) => resolve(file))
  return ts.createProgram([...sources, ...texts.keys()], settings, host)
}

const program = programOfExamples()

t.test('the examples compile against the public entries', async (t) => {
  for (const { place, path } of examples) {
    const source = program.getSourceFile(path)
    const faults = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    t.strictSame(
      faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' ')),
      [],
      place,
    )
  }
})

t.test('every function and class of a public entry has an example', async (t) => {
  const checker = program.getTypeChecker()
  for (const [entry, file] of Object.entries(entries)) {
    const source = program.getSourceFile(resolve(file))
    const exported = source && checker.getSymbolAtLocation(source)
    const names = exported ? checker.getExportsOfModule(exported) : []
    t.ok(names.length > 0, entry)
    for (const name of names) {
      const symbol = name.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(name) : name
      const { valueDeclaration: declaration } = symbol
      if (!declaration) continue
      const type = checker.getTypeOfSymbolAtLocation(symbol, declaration)
      if (type.getCallSignatures().length + type.getConstructSignatures().length === 0) continue
      const tags = symbol.getJsDocTags(checker).map((tag) => tag.name)
      t.ok(tags.includes('example'), `${entry}: ${name.name} (${declaration.getSourceFile().fileName})`)
    }
  }
})

/** `expression // value`, alone or after `const name =`. Values are literals, so that they are easy to tell from remarks. */
const claim = /^(?:const \w+ = )?(.+?) \/\/ (.+)$/

t.test('the examples give the values that their comments state', async (t) => {
  const folder = t.testdir({})
  let claims = 0
  for (const [at, { place, text }] of examples.entries()) {
    const lines = text.split('\n').map((line) => {
      const [, expression, value] = claim.exec(line) ?? []
      if (expression === undefined) return line
      claims += 1
      return `stated.push([${expression}, ${value}])`
    })
    if (!lines.some((line) => line.startsWith('stated.'))) continue
    const { outputText } = ts.transpileModule(
      ['export const stated: unknown[][] = []', ...lines].join('\n'),
      {
        compilerOptions: { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext },
      },
    )
    const linked = outputText.replace(/from '([^']+)'/g, (_, name: string) => {
      const entry = Object.entries(entries).find(([one]) => one === name)?.[1]
      const url = entry
        ? pathToFileURL(resolve('dist', entry.replace(/\.ts$/, '.js'))).href
        : import.meta.resolve(name)
      return `from '${url}'`
    })
    const file = join(folder, `${at}.mjs`)
    await writeFile(file, linked)
    const { stated } = (await import(pathToFileURL(file).href)) as { stated: [unknown, unknown][] }
    for (const [given, value] of stated) t.strictSame(given, value, place)
  }
  t.ok(claims > 30, `${claims} values are checked`)
})
