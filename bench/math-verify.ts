/**
 * Milliseconds a pair of `math-verify` and of Python's Math-Verify, warm, each pinned to one core, in the same run.
 * `jiti bench/math-verify.ts [PAIRS.jsonl]`: gold, pred and expected a line; without it the pairs of the test suite.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { readMathTruth, verifyMath } from '../src/grading/math/index.ts'
import { mathPairs } from '../test/support/math-pairs.ts'
import { pythonEnvironment } from './python-environment.ts'
import { quantile } from './quantile.ts'

interface Pair {
  readonly gold: string
  readonly pred: string
  readonly expected: boolean
  readonly precision?: number
  readonly strict?: boolean
}

interface Measured {
  /** Milliseconds of each pass, a row a pair. */
  readonly times: number[][]
  readonly verdicts: readonly boolean[]
}

const passes = 5
const here = import.meta.dirname
const [file] = process.argv.slice(2)
const pairs: Pair[] = file
  ? readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  : mathPairs().map(({ truth, answer, equal }) => ({
      gold: `$${truth}$`,
      pred: `$${answer}$`,
      expected: equal,
    }))

function ours(): Measured {
  const times = pairs.map((): number[] => [])
  let verdicts: boolean[] = []
  for (let pass = 0; pass <= passes; pass++) {
    verdicts = pairs.map(({ gold, pred, precision = 6, strict = true }, index) => {
      const start = performance.now()
      const truth = readMathTruth(gold)
      const equal =
        truth !== null &&
        verifyMath(truth, pred, { precision, strict, relationAsSet: false }).decision !== null
      if (pass > 0) times[index]?.push(performance.now() - start)
      return equal
    })
  }
  return { times, verdicts }
}

function theirs(): Measured {
  const python = pythonEnvironment('.venv-math', ['math-verify', 'antlr4-python3-runtime==4.13.2'])
  const lines = pairs.map((pair) => JSON.stringify(pair)).join('\n')
  const command = [join(python, 'python'), join(here, 'math-verify.py'), String(passes)]
  const { stdout, status } = spawnSync('taskset', ['-c', '0', ...command], {
    input: lines,
    maxBuffer: 1 << 28,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  if (status !== 0) throw new Error(`Math-Verify ended with ${status}`)
  return JSON.parse(stdout.toString())
}

function summary({ times, verdicts }: Measured) {
  const best = times.map((of) => Math.min(...of))
  const ms = (value: number): number => Number(value.toPrecision(3))
  return {
    agree: `${verdicts.filter((verdict, index) => verdict === pairs[index]?.expected).length}/${pairs.length}`,
    median: ms(quantile(best, 0.5)),
    p99: ms(quantile(best, 0.99)),
    'p99 of all passes': ms(quantile(times.flat(), 0.99)),
    slowest: ms(Math.max(...best)),
    total: ms(best.reduce((sum, one) => sum + one, 0)),
  }
}

execFileSync('taskset', ['-cp', '0', String(process.pid)], { stdio: 'ignore' })
const mine = ours()
const python = theirs()
const [a, b] = [summary(mine), summary(python)]
console.log(
  `${cpus()[0]?.model}, Node ${process.version}, ${pairs.length} pairs, best of ${passes} passes a pair, ms`,
)
console.table({ 'math-verify': a, 'Math-Verify (Python)': b })
console.log(
  `median ${(b.median / a.median).toFixed(0)} times, total ${(b.total / a.total).toFixed(0)} times as fast`,
)
