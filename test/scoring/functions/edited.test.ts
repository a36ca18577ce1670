import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { builtInFolder, discover } from '../../../src/scoring/functions/discover.ts'
import { cpuMs } from '../../support/cpu.ts'
import { failureOf, numberOf, openWith, score } from '../../support/function-calls.ts'
import { withoutPython } from '../../support/python.ts'
import { rule } from './author-files.ts'

/** A folder of functions whose every file a test writes again. */
function folderOf(t: Test, files: (value: number) => Readonly<Record<string, string>>) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'functions-')))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const write = (value: number): void => {
    for (const [name, text] of Object.entries(files(value))) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
  }
  write(0.25)
  return { folder, write }
}

/** What a response of 'exit' ends, so that a process starts after the files were edited. */
const ending = "if (sample.response === 'exit') process.exit(3)"

t.test('a process that starts after a file was edited runs what was read with the configs', async (t) => {
  const { folder, write } = folderOf(t, (value) => ({
    'own.ts': rule(`${ending}\nreturn ${value}`),
    'shared.ts': `import { worth } from './below/worth.ts'\n${rule(`${ending}\nreturn worth()`)}`,
    'below/worth.ts': `import { value } from './value.ts'\nexport const worth = (): number => value\n`,
    'below/value.ts': `export const value: number = ${value}\n`,
  }))
  const host = await openWith([folder])
  t.teardown(() => host.close())
  const [own, shared] = [await host.bind('own', {}), await host.bind('shared', {})]
  write(0.75)
  for (const fn of [own, shared]) {
    t.equal(numberOf(await score(host, fn, 'x')), 0.25, `${fn.name}: the process that has read it`)
    t.match(failureOf(await score(host, fn, 'exit')), /^rule_error/)
    t.equal(numberOf(await score(host, fn, 'x')), 0.25, `${fn.name}: the one after it`)
  }
  const later = await openWith([folder])
  t.teardown(() => later.close())
  for (const { name } of [own, shared]) {
    t.equal(numberOf(await score(later, await later.bind(name, {}), 'x')), 0.75)
    t.not((await host.describe(name)).hash, (await later.describe(name)).hash)
  }
})

t.test('plain JavaScript that Node itself reads scores nothing once it was edited', async (t) => {
  const { folder, write } = folderOf(t, (value) => ({
    'package.json': '{"type":"module"}',
    'plain.mjs': rule(`${ending}\nreturn value()`).replace(
      'import',
      "import { value } from './below/value.mjs'\nimport",
    ),
    'below/value.mjs': `export const value = () => ${value}\n`,
  }))
  const host = await openWith([folder])
  t.teardown(() => host.close())
  const plain = await host.bind('plain', {})
  t.equal(numberOf(await score(host, plain, 'x')), 0.25)
  write(0.75)
  await score(host, plain, 'exit')
  const result = await score(host, plain, 'x')
  t.ok(
    numberOf(result) === 0.25 || /value\.mjs was changed after it was read: reload/.test(failureOf(result)),
    failureOf(result),
  )
})

t.test(
  'a Python process that starts after a file was edited runs what was read',
  { skip: withoutPython },
  async (t) => {
    const function_ = (body: string) => `import os
${body}
def compute_score(solution_str):
    if solution_str == "exit":
        os._exit(3)
    return worth()
`
    const { folder, write } = folderOf(t, (value) => ({
      'own.py': function_(`def worth():\n    return ${value}`),
      'packed.py': function_('from pack.deep import (\n    worth,  # of a package\n)'),
      'beside.py': function_('import _value\ndef worth():\n    return _value.value'),
      '_value.py': `value = ${value}\n`,
      'pack/__init__.py': '',
      'pack/deep.py': 'from . import values\n\ndef worth():\n    return values.value\n',
      'pack/values.py': `value = ${value}\n`,
    }))
    const encoded =
      "# -*- coding: latin-1 -*-\ndef compute_score(solution_str):\n    return float(solution_str == 'é')\n"
    writeFileSync(join(folder, 'encoded.py'), Buffer.from(encoded, 'latin1'))
    const options = { range: [0, 1] }
    const host = await openWith([folder])
    t.teardown(() => host.close())
    const names = ['own', 'packed', 'beside']
    const bound = await Promise.all(names.map((name) => host.bind(name, options)))
    write(0.75)
    for (const fn of bound) {
      t.match(failureOf(await score(host, fn, 'exit')), /^rule_error/)
      t.equal(numberOf(await score(host, fn, 'x')), 0.25, fn.name)
    }
    const latin = await host.bind('encoded', options)
    t.equal(numberOf(await score(host, latin, 'é')), 1, 'in the encoding that the file names')
    const later = await openWith([folder])
    t.teardown(() => later.close())
    for (const name of names) {
      t.equal(numberOf(await score(later, await later.bind(name, options), 'x')), 0.75)
      t.not((await host.describe(name)).hash, (await later.describe(name)).hash, `${name}: another version`)
    }
  },
)

t.test('what many functions import is hashed once, and counts for each of them', async (t) => {
  const many = 64
  const { folder, write } = folderOf(t, (value) => ({
    'below/large.ts': `export const value = ${value}\n${'// a line of its own\n'.repeat(100_000)}`,
    ...Object.fromEntries(
      Array.from({ length: many }, (_, i) => [`fn-${i}.ts`, "import { value } from './below/large.ts'\n"]),
    ),
  }))
  const one = folderOf(t, (value) => ({
    'fn.ts': "import { value } from './below/large.ts'\n",
    'below/large.ts': `export const value = ${value}\n${'// a line of its own\n'.repeat(100_000)}`,
  }))
  const costOf = async (folder: string): Promise<number> => {
    const costs: number[] = []
    for (let time = 0; time < 3; time++) {
      const before = cpuMs()
      await discover([folder])
      costs.push(cpuMs() - before)
    }
    return Math.min(...costs)
  }
  await discover([folder])
  const ratio = (await costOf(folder)) / (await costOf(one.folder))
  t.ok(ratio < 8, `${many} functions cost ${ratio.toFixed(1)} times as much as one`)

  const hashes = async () => (await discover([folder])).sources.map(({ hash }) => hash)
  const before = new Set(await hashes())
  write(0.75)
  const changed = (await hashes()).filter((hash) => !before.has(hash))
  t.equal(changed.length, many)
})

t.test('the package has the same functions however often they are opened', async (t) => {
  const found = async () => (await discover([])).sources.map(({ name, file, hash }) => ({ name, file, hash }))
  const first = await found()
  t.strictSame(await found(), first)
  const own = join(builtInFolder, 'exact-match.js')
  const { atime, mtime } = statSync(own)
  utimesSync(own, atime, mtime)
  t.strictSame(await found(), first, 'a file that was written again with the same text')
  t.equal(new Set(first.map(({ hash }) => hash)).size, first.length)
})
