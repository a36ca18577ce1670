import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { optionalPackages } from '../../src/workbench/optional-packages.ts'

const cli = new URL('../../src/cli/main.js', import.meta.url).pathname

/** Runs a command without any optional package. */
function runWithout(folder: string, ...argv: string[]) {
  const names = Object.values(optionalPackages).flat().map(nameOf)
  const hooks = `const names = ${JSON.stringify(names)}
export const resolve = (specifier, context, next) => {
  if (names.some((name) => specifier === name || specifier.startsWith(name + '/')))
    throw Object.assign(new Error('not installed'), { code: 'ERR_MODULE_NOT_FOUND' })
  return next(specifier, context)
}`
  const register = join(folder, 'register.mjs')
  writeFileSync(
    register,
    `import { register } from 'node:module'\nregister(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)})\n`,
  )
  return spawnSync(process.execPath, ['--import', register, cli, ...argv], { encoding: 'utf8' })
}

/** `@scope/name@1` without its version. */
const nameOf = (spec: string): string => spec.replace(/(?<=.)@[^@/]*$/, '')

t.test('a default install has none of the packages that only some commands need', async (t) => {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync('package.json', 'utf8'),
  )
  const names = [...new Set(Object.values(optionalPackages).flat().map(nameOf))].sort()
  t.strictSame(Object.keys(peerDependencies).sort(), names)
  for (const name of names) {
    t.strictSame(peerDependenciesMeta[name], { optional: true }, name)
    t.notOk(Object.hasOwn({ ...dependencies, ...optionalDependencies }, name), name)
  }
})

t.test('a command with a missing package names the command that installs it', async (t) => {
  const folder = t.testdir({
    'scored.jsonl': '{"id":"0","reward":1,"valid":true,"terms":{}}\n',
    'train.log': 'step:1 - critic/score/mean:0.5\nstep:2 - critic/score/mean:0.6\n',
    'rows.parquet': 'PAR1',
  })
  const [scored, log, parquet] = ['scored.jsonl', 'train.log', 'rows.parquet'].map((name) =>
    join(folder, name),
  ) as [string, string, string]
  const duckdb = /need packages that a default install leaves out: npm i @duckdb\/node-api\n/
  const cases: [string[], RegExp][] = [
    [['analyze', scored], duckdb],
    [['score', '--function', 'exact-match', '--input', parquet, '--output', '-'], duckdb],
    [['report', log, '--output', join(folder, 'a.html')], /Plots need packages .*: npm i echarts@6\n/],
    [
      ['report', log, '--output', join(folder, 'a.png')],
      /PNG files need packages .*: npm i echarts@6 @resvg\/resvg-wasm@2 @fontsource\/arimo@5\n/,
    ],
  ]
  for (const [argv, wanted] of cases) {
    const { status, stderr } = runWithout(folder, ...argv)
    t.match(stderr, wanted, argv.join(' '))
    t.not(status, 0)
  }
})

t.test('commands that need no optional package run without them', async (t) => {
  const folder = t.testdir({
    'train.log': 'step:1 - critic/score/mean:0.5\nstep:2 - critic/score/mean:0.6\n',
  })
  const { status, stderr } = runWithout(folder, 'report', join(folder, 'train.log'), '--format', 'md')
  t.equal(status, 0, stderr)
})
