/**
 * `npm run test:mutants`: changes the compiled code at random places, one place a mutant, and runs the tests that reach it. A mutant
 * that no test notices shows a promise without a test, or changes nothing that anybody can see. First each test file runs unchanged: what it
 * reaches is known from V8's coverage, and a file that fails then is left out.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { seeded } from '../support/seeded.ts'
import { type Mutation, mutationsOf } from './mutations.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '100' },
    jobs: { type: 'string', default: '2' },
    /** Folders of src, separated by commas. */
    from: { type: 'string', default: 'scoring,serving,trainers' },
    /** Seconds that a test file may take. */
    limit: { type: 'string', default: '120' },
    /** Seconds after which no further mutant is begun. */
    within: { type: 'string', default: '36000' },
  },
})
const root = resolve('.')
const started = performance.now()
const seconds = () => Math.round((performance.now() - started) / 1000)

interface Mutant extends Mutation {
  /** Relative to the root. */
  readonly file: string
  readonly code: string
  /** Test files that reach it. */
  readonly tests: string[]
}

interface TestFile {
  readonly name: string
  readonly ms: number
}

const mutants = drawn()
const testFiles = filesBelow('dist/test').filter((name) => name.endsWith('.test.js'))
const passing: TestFile[] = []
await each(testFiles, reach)
passing.sort((a, b) => a.ms - b.ms)
write(`# ${passing.length} of ${testFiles.length} test files pass unchanged, after ${seconds()} s`)

let killed = 0
const survivors: Mutant[] = []
const unreached = mutants.filter(({ tests }) => tests.length === 0)
const reached = mutants.filter(({ tests }) => tests.length > 0)
await each(reached, async (mutant) => {
  if (seconds() > Number(values.within)) return
  const by = await killer(mutant)
  if (by === null) survivors.push(mutant)
  else killed++
  write(
    `${by === null ? 'SURVIVES' : 'killed'} ${shown(mutant)}${by === null ? ` (${mutant.tests.length} test files reach it)` : ` by ${by}`}`,
  )
})
for (const mutant of unreached) write(`UNREACHED ${shown(mutant)}`)
write(
  `# seed ${values.seed}: ${mutants.length} mutants, ${killed} killed, ${survivors.length} survive, ${unreached.length} reached by no test, ${
    reached.length - killed - survivors.length
  } not run; ${seconds()} s`,
)

function drawn(): Mutant[] {
  const all = String(values.from)
    .split(',')
    .flatMap((folder) => filesBelow(join('dist/src', folder)))
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => {
      const code = readFileSync(file, 'utf8')
      return mutationsOf(code).map((mutation) => ({ ...mutation, file, code, tests: [] }))
    })
  const random = seeded(Number(values.seed))
  const count = Math.min(Number(values.count), all.length)
  write(`# seed ${values.seed}: ${count} of ${all.length} places`)
  return Array.from({ length: count }, () => all.splice(Math.floor(random() * all.length), 1)).flat()
}

/** Runs a test file as it is and notes the mutants that it reaches. */
async function reach(name: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'reached-'))
  const began = performance.now()
  const isPassing = await passes(name, root, { NODE_V8_COVERAGE: folder })
  if (isPassing) {
    passing.push({ name, ms: performance.now() - began })
    for (const mutant of reachedBy(folder)) mutant.tests.push(name)
  } else write(`# left out, as it fails unchanged: ${name}`)
  rmSync(folder, { recursive: true, force: true })
}

interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

function reachedBy(folder: string): Set<Mutant> {
  const found = new Set<Mutant>()
  for (const report of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, report), 'utf8'))
    for (const { url, functions } of result) {
      if (!url.startsWith('file:')) continue
      const file = relative(root, fileURLToPath(url))
      const ranges: Range[] = functions.flatMap((one: { ranges: Range[] }) => one.ranges)
      for (const mutant of mutants) if (mutant.file === file && isRun(ranges, mutant.start)) found.add(mutant)
    }
  }
  return found
}

/** The innermost range tells. */
function isRun(ranges: readonly Range[], at: number): boolean {
  const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= at && at < endOffset)
  const size = (range: Range) => range.endOffset - range.startOffset
  return (
    around.reduce<Range | null>((best, one) => (best && size(best) <= size(one) ? best : one), null)
      ?.count !== 0
  )
}

/** The first test file that fails with the mutant; null: all pass. */
async function killer(mutant: Mutant): Promise<string | null> {
  const folder = mkdtempSync(join(tmpdir(), 'mutant-'))
  try {
    for (const entry of readdirSync(root))
      if (!['dist', '.git', '.tap'].includes(entry)) symlinkSync(join(root, entry), join(folder, entry))
    spawnSync('cp', ['-al', join(root, 'dist'), join(folder, 'dist')])
    const { file, code, start, end, replacement } = mutant
    // A file of its own: the others are links.
    rmSync(join(folder, file))
    writeFileSync(join(folder, file), code.slice(0, start) + replacement + code.slice(end))
    for (const { name } of passing)
      if (mutant.tests.includes(name) && !(await passes(name, folder))) return name
    return null
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function passes(name: string, cwd: string, env: NodeJS.ProcessEnv = {}): Promise<boolean> {
  return new Promise((done) => {
    const options = {
      cwd,
      env: { ...process.env, TAP_TIMEOUT: String(values.limit), ...env },
      stdio: 'ignore',
      detached: true,
    } as const
    const child = spawn(process.execPath, [name], options)
    const end = () => {
      try {
        process.kill(-(child.pid ?? 0), 'SIGKILL')
      } catch {
        // All of them have ended.
      }
    }
    const timer = setTimeout(end, 1000 * Number(values.limit))
    child.once('exit', (code) => {
      clearTimeout(timer)
      end()
      done(code === 0)
    })
  })
}

async function each<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const waiting = [...list]
  const worker = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await work(one)
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, worker))
}

function shown({ file, code, start, kind }: Mutant): string {
  const before = code.slice(0, start).split('\n')
  const line = code.split('\n')[before.length - 1]?.trim() ?? ''
  return `${file}:${before.length}: ${kind}: ${line.slice(0, 140)}`
}

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) throw new Error(`${folder} is missing: npm run build`)
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .sort()
}

function write(line: string): void {
  process.stdout.write(`${line}\n`)
}
