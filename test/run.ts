/**
 * `npm test`: runs the compiled test files, or those that it is given, three processes at a time. A file that takes long, and each one
 * that is named, has a process of its own; the others share processes (together.ts). tap's command preloads its loaders in each
 * process and in every one that they start, which costs as much as the tests do.
 *
 * It prints a line for each file, what went wrong in those that fail, and the totals.
 */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { didYouMean } from '../src/core/nearest-name.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** One more than the cores of the smallest machine: tests wait for processes and servers of their own. */
    jobs: { type: 'string', default: '3' },
    /** Seconds that a file may take before its process is ended. tap itself gives a file less, unless the file asks for more. */
    limit: { type: 'string', default: '420' },
    /** The most files that share a process; 1 where files are named. */
    together: { type: 'string' },
  },
})

/** The files that take longest: 5 s of processor time and more. The longest come first. */
const longest: readonly string[] = [
  'scoring/functions/hostile',
  'adversarial/table',
  'adversarial/growth',
  'docs/recipes',
  'docker/replicas',
  'cli/audit',
  'scoring/functions/fairness',
  'promises/command-line',
  'serving/http/parking',
  'cli/check',
  'scoring/gateway/admission',
  'core/json/hostile',
  'serving/http/bodies',
  'scoring/gateway/large-requests',
  'cli/score',
  'promises/defaults',
]

const noDomains = new URL('support/no-domains.js', import.meta.url).href

const together = new URL('together.js', import.meta.url).pathname

type Totals = Record<'total' | 'pass' | 'fail' | 'skip' | 'todo', number>

const running = new Set<ReturnType<typeof spawn>>()
const totals: Totals = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0 }
const files = positionals.length > 0 ? positionals.map(compiled) : testFiles()
const waiting = lots(Number(values.together ?? (positionals.length > 0 ? 1 : 8)))
const started = performance.now()
let [done, failed] = [0, 0]

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    for (const child of running) child.kill('SIGKILL')
    process.exit(1)
  })

await Promise.all(Array.from({ length: Math.max(1, Number(values.jobs)) }, work))
write(`1..${files.length}`)
const { total, pass, ...others } = totals
const rest = Object.entries(others).filter(([, count]) => count > 0)
write(
  `# { ${[['total', total], ['pass', pass], ...rest].map(([name, count]) => `${name}: ${count}`).join(', ')} }`,
)
write(`# time=${(performance.now() - started).toFixed(0)}ms`)
process.exitCode = failed > 0 || files.length === 0 ? 1 : 0

/** The compiled file of a test that is named by its source. */
function compiled(file: string): string {
  const path = relative(process.cwd(), file).replace(/\.ts$/, '.js')
  const built = join('dist', path)
  return file.endsWith('.ts') && existsSync(built) ? built : file
}

function testFiles(): string[] {
  const folder = import.meta.dirname
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.js') && !file.split('/').includes('fixtures'))
    .map((file) => relative(process.cwd(), join(folder, file)))
    .sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1))
}

/** The place of a file among those that take longest, which begin first: whoever begins last must be done soon. */
function rankOf(file: string): number {
  const rank = longest.findIndex((name) => file.endsWith(`test/${name}.test.js`))
  return rank < 0 ? longest.length : rank
}

/** The files that take longest each alone, then the others in lots of this size. */
function lots(size: number): string[][] {
  const alone = size > 1 ? files.filter((file) => rankOf(file) < longest.length) : files
  const others = files.filter((file) => !alone.includes(file))
  const count = Math.ceil(others.length / size)
  return [
    ...alone.map((file) => [file]),
    ...Array.from({ length: count }, (_, at) => others.slice(at * size, (at + 1) * size)),
  ]
}

async function work(): Promise<void> {
  for (let lot = waiting.shift(); lot !== undefined; lot = waiting.shift()) {
    const [first = '', ...others] = lot
    if (others.length > 0) await runTogether(lot)
    else if (!existsSync(first))
      tell(first, '', null, `there is no such file${didYouMean(first, testFiles())}`, 0)
    else {
      const begun = performance.now()
      const { output, fault } = await ran(first)
      // tap ends a file, with code 0, whose event loop is empty between two of its tests.
      const late = output.includes('cannot create subtest after parent test ends')
        ? 'tests began too late'
        : null
      tell(first, output, totalsOf(output), fault ?? late, performance.now() - begun)
    }
  }
}

/** Where the process ends early, the file that ran then has failed; those after it run in another process. */
async function runTogether(lot: readonly string[]): Promise<void> {
  const { output, fault } = await ran(together, { TEST_FILES: JSON.stringify(lot) })
  const parts = output.split(/^# counted (.*)$\n/m)
  for (const [at, file] of lot.entries()) {
    const [text = '', counted] = parts.slice(2 * at)
    const isLast = at === lot.length - 1
    if (counted === undefined) {
      tell(file, text, null, fault, 0)
      if (!isLast) waiting.push(lot.slice(at + 1))
      return
    }
    const { ms, ...counts } = JSON.parse(counted)
    // What went wrong in a file is in its counts. That all went well and the process did not can only be told of its last file.
    const endedBadly = isLast && !/^not ok/m.test(output) ? fault : null
    const why = counts.total === 0 ? 'no test' : counts.fail > 0 ? 'a test failed' : endedBadly
    tell(file, text, counts, why, ms)
  }
}

function tell(
  file: string,
  output: string,
  counted: Partial<Totals> | null,
  fault: string | null,
  ms: number,
): void {
  const why = fault ?? (counted === null ? 'it ended before its tests did' : null)
  for (const [name, count] of Object.entries(counted ?? {})) totals[name as keyof Totals] += count
  if (why !== null) {
    failed += 1
    // A file that fails without a failed test counts as one.
    if (!counted?.fail) {
      totals.total += 1
      totals.fail += 1
    }
    write(`# Subtest: ${file}\n${troubleIn(output).replace(/^(?=.)/gm, '    ')}`)
  }
  const result = why === null ? 'ok' : 'not ok'
  write(`${result} ${++done} - ${file} # time=${ms.toFixed(0)}ms${why === null ? '' : ` (${why})`}`)
}

/** The output of a process, and why it did not end well, if it did not. */
function ran(file: string, env: NodeJS.ProcessEnv = {}): Promise<{ output: string; fault: string | null }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--import', noDomains, file], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { TAP_TIMEOUT: '240', ...process.env, ...env },
    })
    running.add(child)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      child.kill('SIGKILL')
    }, Number(values.limit) * 1000)
    const chunks: Buffer[] = []
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        // The next file of a lot has begun.
        if (chunk.includes('# counted ')) timer.refresh()
      })
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      running.delete(child)
      const ended = isLate ? `killed after ${values.limit} s` : (signal ?? `exit code ${code}`)
      resolve({ output: Buffer.concat(chunks).toString(), fault: code === 0 ? null : ended })
    })
  })
}

/** What tap says at the end of a file, such as `# { total: 12, pass: 11, skip: 1 }`; null if it did not come so far. */
function totalsOf(output: string): Partial<Totals> | null {
  const [, said] = /^# \{ (total: \d+(?:, (?:pass|fail|skip|todo): \d+)*) \}$/m.exec(output) ?? []
  if (said === undefined) return null
  return Object.fromEntries(
    said
      .split(', ')
      .map((part) => part.split(': '))
      .map(([name, count]) => [name, Number(count)]),
  )
}

/** The output without the lines of what passed. */
function troubleIn(output: string): string {
  return output.replace(/^ *ok \d+ .*(?<!\{)\n/gm, '')
}

function write(text: string): void {
  process.stdout.write(`${text}\n`)
}
