/**
 * Libraries of computer algebra that could decide equality, on the same answers: agreement, time, hostile input.
 * `jiti bench/math-candidates.ts [PAIRS.jsonl]` installs them into a temporary folder.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finalStatement } from '../src/extract/math/index.ts'
import { mathPairs } from '../test/support/math-pairs.ts'

const [file] = process.argv.slice(2)
const rows: { gold: string; pred: string; expected: boolean }[] = file
  ? readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  : mathPairs().map(({ truth, answer, equal }) => ({
      gold: `$${truth}$`,
      pred: `$${answer}$`,
      expected: equal,
    }))

/** The libraries get the answers as our reader of responses finds them: none of them has one. */
const stated = (text: string): string =>
  (finalStatement(text)?.expression ?? text).replace(/\$|\\[()[\]]/g, '').trim()

const candidates: Record<string, { install: string; equal: string }> = {
  'compute-engine': {
    install: '@cortex-js/compute-engine@0.30.2',
    equal: `const { ComputeEngine } = await import('@cortex-js/compute-engine'); const engine = new ComputeEngine()
      equal = (a, b) => { const [x, y] = [engine.parse(a), engine.parse(b)]
        return x.isSame(y) || x.isEqual(y) === true || x.simplify().isSame(y.simplify()) }`,
  },
  nerdamer: {
    install: 'nerdamer@1.1.13',
    equal: `const { default: nerdamer } = await import('nerdamer/all.min.js')
      equal = (a, b) => a === b ||
        nerdamer.convertFromLaTeX(a).subtract(nerdamer.convertFromLaTeX(b)).expand().toString() === '0'`,
  },
}

const hostile: Record<string, string> = {
  'a great factorial': '100000!',
  'a sum of 5,000': `${'x+'.repeat(5000)}x`,
  '2,000 brackets': `${'('.repeat(2000)}1${')'.repeat(2000)}`,
  'a power of a sum': '(x+y+1)^{200}',
  'a tower': '9^{9^{9^{9}}}',
}

const script = (equal: string): string => `
console.log = console.info = console.error = () => {}
const { readFileSync } = await import('node:fs')
let equal
${equal}
const { pairs, hostile } = JSON.parse(readFileSync(0, 'utf8'))
const run = (a, b) => { const start = performance.now(); let said
  try { said = equal(a, b) === true } catch { said = 'throws' }
  return [said, performance.now() - start] }
if (hostile) process.stdout.write(JSON.stringify(run(hostile, '42')))
else { pairs.map(([a, b]) => run(a, b)); process.stdout.write(JSON.stringify(pairs.map(([a, b]) => run(a, b)))) }`

const folder = mkdtempSync(join(tmpdir(), 'math-candidates-'))
try {
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const packages = Object.values(candidates).map((candidate) => candidate.install)
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent', ...packages], { cwd: folder })
  const pairs = rows.map(({ gold, pred }) => [stated(gold), stated(pred)])
  for (const [name, { equal }] of Object.entries(candidates)) {
    writeFileSync(join(folder, `${name}.js`), script(equal))
    const run = (input: unknown) => {
      const command = ['-c', '0', 'node', join(folder, `${name}.js`)]
      const { stdout, status } = spawnSync('taskset', command, {
        input: JSON.stringify(input),
        timeout: 60_000,
      })
      return status === 0 ? JSON.parse(stdout.toString()) : null
    }
    const said: [boolean | 'throws', number][] | null = run({ pairs })
    const times = (said ?? []).map(([, ms]) => ms).sort((a, b) => a - b)
    const wrongly = (said ?? []).filter(([equal], k) => equal === true && rows[k]?.expected === false)
    console.log(name, {
      agree: (said ?? []).filter(([equal], k) => (equal === true) === rows[k]?.expected).length,
      of: rows.length,
      throws: (said ?? []).filter(([equal]) => equal === 'throws').length,
      'equal where it is not': wrongly.length,
      median: times[times.length >> 1]?.toFixed(3),
      p99: times[Math.floor(times.length * 0.99)]?.toFixed(1),
    })
    for (const [title, text] of Object.entries(hostile)) {
      const one: [boolean | 'throws', number] | null = run({ hostile: text })
      console.log(`  ${title}: ${one ? `${one[0]}, ${one[1].toFixed(0)} ms` : 'no answer in 60 s'}`)
    }
  }
} finally {
  rmSync(folder, { recursive: true })
}
