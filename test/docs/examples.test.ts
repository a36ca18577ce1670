import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import ts from 'typescript'

/** What authors import: each entry's page of examples is the doc comments of its folder. */
const entries = {
  'reward-gateway/contract': './src/contract/index.ts',
  'reward-gateway/grading': './src/grading/readers.ts',
  'reward-gateway/testing': './src/contract/testing.ts',
}

/** Example modules by a path at the package's root, where nothing is written: the compiler reads them from here. */
const examples = new Map(
  ['src/contract', 'src/grading'].flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) =>
        [...readFileSync(join(folder, file), 'utf8').matchAll(/^ \* ```ts\n(.*?)^ \* ```$/gms)].map(
          ([, block = ''], at) =>
            [
              resolve(`example ${at + 1} of ${file}`),
              `${block.replace(/^ \* ?/gm, '')}\nexport {}\n`,
            ] as const,
        ),
      ),
  ),
)

const problemOf = ({ messageText }: ts.Diagnostic): string =>
  ts.flattenDiagnosticMessageText(messageText, ' ')

t.test('the examples of what authors call compile against the public entries', async (t) => {
  t.ok(examples.size > 10, 'they are found')
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
  const host = ts.createCompilerHost(settings)
  const { fileExists, readFile } = host
  const names = new Map([...examples].map(([name, text]) => [`${name.replaceAll(' ', '-')}.mts`, text]))
  host.fileExists = (file) => names.has(file) || fileExists(file)
  host.readFile = (file) => names.get(file) ?? readFile(file)
  const program = ts.createProgram([...names.keys()], settings, host)
  for (const name of names.keys()) {
    const source = program.getSourceFile(name)
    t.ok(source, `${name} is read`)
    const faults = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    t.strictSame(faults.map(problemOf), [], name)
  }
})
