/** `npm test` passes only if each file ran to its end and all its tests passed. `npm run build` builds only what is not built. */
import { execFile } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const run = (args: readonly string[]): Promise<{ code: unknown; text: string }> =>
  new Promise((done) =>
    execFile(process.execPath, ['dist/test/run.js', ...args], (error, text) =>
      done({ code: error ? error.code : 0, text }),
    ),
  )

const passes =
  "import t from 'tap'\nt.test('one', async (t) => { t.pass('it passes'); t.skip('not here') })\n"
const bad = {
  'an assertion that fails': ["import t from 'tap'\nt.equal(1, 2, 'they are equal')\n", 'exit code 1'],
  'an end before its tests': [
    "import t from 'tap'\nt.test('one', async () => process.reallyExit(0))\n",
    'it ended before its tests did',
  ],
  'no test': ["import 'tap'\n", 'it ended before its tests did'],
  'a promise that nobody waits for': [
    "import t from 'tap'\nt.test('one', async () => {})\nsetTimeout(() => Promise.reject(new Error('it is late')), 1)\n",
    'exit code 1',
  ],
  'an error that nobody catches': [
    "import t from 'tap'\nt.test('one', (t) => { setTimeout(() => { throw new Error('it is thrown') }, 1); setTimeout(() => t.end(), 99) })\n",
    'exit code 1',
  ],
  'tests that begin too late': [
    "import t from 'tap'\nt.test('one', async (t) => t.pass())\nawait new Promise((done) => process.once('beforeExit', () => setTimeout(done, 50)))\nt.test('two', async (t) => t.pass())\n",
    'tests began too late',
  ],
  'a module that is not there': ["import './nothing.js'\n", 'exit code 1'],
  'a signal that ends it': ["process.kill(process.pid, 'SIGKILL')\n", 'SIGKILL'],
} as const

t.test('a run passes if all its files pass, and counts what passed', async (t) => {
  const folder = t.testdir({ 'one.test.js': passes, 'other.test.js': passes })
  const { code, text } = await run([`${folder}/one.test.js`, `${folder}/other.test.js`])
  t.equal(code, 0)
  t.match(text, /^# \{ total: 4, pass: 2, skip: 2 \}$/m)
  t.notMatch(text, 'it passes')
})

t.test('a run fails if one file fails, shows what failed in it, and runs the others', async (t) => {
  const files = Object.fromEntries(Object.entries(bad).map(([, [source]], i) => [`bad-${i}.test.js`, source]))
  const folder = t.testdir({ ...files, 'good.test.js': passes })
  const names = [...Object.keys(files), 'gone.test.js', 'good.test.js']
  const { code, text } = await run(names.map((name) => `${folder}/${name}`))
  t.equal(code, 1)
  for (const [i, [what, [, why]]] of Object.entries(bad).entries()) {
    const line = text.split('\n').find((line) => line.includes(`- ${folder}/bad-${i}.test.js`))
    t.match(line, /^not ok \d+ - /, what)
    t.match(line, ` (${why})`, what)
  }
  t.match(text, /^not ok \d+ - .*gone\.test\.js .*\(there is no such file\)$/m)
  t.match(text, /^ok \d+ - .*good\.test\.js/m)
  t.match(text, 'not ok 1 - they are equal')
  for (const said of ["Cannot find module '", 'it is late', 'Error: it is thrown']) t.match(text, said)
  t.match(text, /^# \{ total: \d+, pass: \d, fail: \d+, skip: 1 \}$/m)
})

t.test(
  'a misspelt file gets one line that names the nearest, and a test may be named by its source',
  async (t) => {
    const { code, text } = await run(['dist/test/cli/scroe.test.js'])
    t.equal(code, 1)
    t.match(
      text,
      /^not ok 1 - dist\/test\/cli\/scroe\.test\.js # time=0ms \(there is no such file; did you mean 'dist\/test\/cli\/score\.test\.js'\?\)$/m,
    )
    t.notMatch(text, /node:internal|ERR_MODULE_NOT_FOUND/)
    t.match((await run(['test/docs/answers.test.ts'])).text, /^ok 1 - dist\/test\/docs\/answers\.test\.js /m)
  },
)

t.test('files that share a process each pass or fail, whatever another does', async (t) => {
  const folder = t.testdir({
    'a.test.js': passes,
    'b.test.js': bad['an assertion that fails'][0],
    'c.test.js':
      "import t from 'tap'\nt.teardown(() => { globalThis.closed = true })\nt.test('one', async (t) => t.pass())\n",
    'd.test.js': "import t from 'tap'\nt.test('c is closed', async (t) => t.ok(globalThis.closed))\n",
    'e.test.js': "import t from 'tap'\nt.test('one', async () => process.reallyExit(0))\n",
    'f.test.js': "import 'tap'\n",
    'g.test.js': passes,
  })
  const names = [...'abcdefg'].map((name) => `${folder}/${name}.test.js`)
  const { code, text } = await run([...names, '--together', '7'])
  t.equal(code, 1)
  const lines = text.match(/^(not )?ok \d - .*$/gm) ?? []
  const results = lines.map((line) => line.replace(/(\d - ).*\/(.)\.test\.js # time=\d+ms/, '$1$2'))
  t.strictSame(results, [
    'ok 1 - a',
    'not ok 2 - b (a test failed)',
    'ok 3 - c',
    'ok 4 - d',
    'not ok 5 - e (it ended before its tests did)',
    'not ok 6 - f (no test)',
    'ok 7 - g',
  ])
  t.match(text, 'not ok 1 - they are equal')
  t.match(text, /^# \{ total: 9, pass: 4, fail: 3, skip: 2 \}$/m)
})

t.test('a process that ends badly after its last file fails that file', async (t) => {
  const folder = t.testdir({
    'a.test.js': passes,
    'b.test.js': `${passes}process.on('exit', () => process.reallyExit(3))\n`,
  })
  const { code, text } = await run([`${folder}/a.test.js`, `${folder}/b.test.js`, '--together', '2'])
  t.equal(code, 1)
  t.match(text, /^ok 1 - .*a\.test\.js/m)
  t.match(text, /^not ok 2 - .*b\.test\.js .*\(exit code 3\)$/m)
})

t.test('a file that never ends is killed, and fails', async (t) => {
  const folder = t.testdir({ 'loop.test.js': 'for (;;);\n' })
  const { code, text } = await run([`${folder}/loop.test.js`, '--limit', '1'])
  t.equal(code, 1)
  t.match(text, /^not ok 1 - .*loop.test.js .*\(killed after 1 s\)$/m)
  t.match(text, /^# \{ total: 1, pass: 0, fail: 1 \}$/m)
})

t.test('a build says what it builds, and a second one builds only if something changed', async (t) => {
  const script = (text: string) => `#!/bin/sh\n${text}\n`
  const folder = t.testdir({
    src: { 'one.ts': '', 'other.ts': '' },
    'package.json': '{"type": "module"}',
    dist: { src: { cli: { 'main.js': '' } }, ui: { 'index.html': '' } },
    node_modules: { '.bin': { tsc: script('[ ! -e src/bad.ts ] || exit 2'), vite: script('echo done') } },
  })
  copyFileSync('build.js', join(folder, 'build.js'))
  for (const name of ['tsc', 'vite']) chmodSync(join(folder, 'node_modules', '.bin', name), 0o755)
  const build = (): Promise<readonly [unknown, string]> =>
    new Promise((done) =>
      execFile(process.execPath, [join(folder, 'build.js')], (error, _stdout, stderr) =>
        done([error ? error.code : 0, stderr]),
      ),
    )
  const whole = [0, 'Building the gateway with tsc...\nBuilding its page with vite...\ndone\n']
  const later = new Date(Date.now() + 60_000)
  const written = (file: string, time = later) => {
    writeFileSync(join(folder, file), '')
    utimesSync(join(folder, file), time, time)
  }
  t.strictSame(await build(), whole)
  t.strictSame(await build(), [0, ''], 'nothing changed')
  t.strictSame(await build(), [0, ''], 'still nothing changed')
  written('src/one.ts')
  t.strictSame(await build(), whole, 'a source changed')
  written('src/one.ts', new Date(0))
  rmSync(join(folder, 'dist', 'ui'), { recursive: true })
  t.strictSame(await build(), whole, 'a part of dist is gone')
  mkdirSync(join(folder, 'dist', 'ui'))
  writeFileSync(join(folder, 'dist', 'ui', 'index.html'), '')
  rmSync(join(folder, 'src', 'other.ts'))
  utimesSync(join(folder, 'src'), later, later)
  t.strictSame(await build(), whole, 'a source was deleted')
  utimesSync(join(folder, 'src'), new Date(0), new Date(0))
  written('src/bad.ts', new Date(0))
  utimesSync(join(folder, 'package.json'), later, later)
  t.strictSame(await build(), [2, 'Building the gateway with tsc...\n'], 'a step fails')
  utimesSync(join(folder, 'package.json'), new Date(0), new Date(0))
  rmSync(join(folder, 'src', 'bad.ts'))
  t.strictSame(await build(), whole, 'a build that failed counts for nothing')
})
