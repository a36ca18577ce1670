import {
  type Benchmark,
  type BenchmarkLine,
  benchmarks,
  gradedAnswer,
  gradedChoice,
  preparedLine,
  publishedAnswer,
  publishedEqual,
  readChoice,
  stripAnswer,
} from '../../src/grading/benchmark/index.ts'
import { mathAggregate } from './math-aggregate.ts'
import type { Answer } from './vector.ts'

function truth(line: BenchmarkLine, benchmark: string): string {
  if (!(benchmarks as readonly string[]).includes(benchmark))
    throw new RangeError(`no benchmark ${benchmark}`)
  return preparedLine(line, benchmark as Benchmark)
}

/** Upstream knows no math500, lmb and aime25, and throws; here they are benchmarks. */
const unknownUpstream: ReadonlySet<unknown> = new Set(['math500', 'lmb', 'aime25'])

/** The steps of the benchmark harness, one file each. */
export const mathBenchmarkAnswers: Readonly<Record<string, Answer>> = {
  'math-aggregate': mathAggregate,
  'math-strip': ({ input, skip_unit }) => ({ value: stripAnswer(String(input), skip_unit === true) }),
  'math-choice': ({ version, input }) => ({
    value: (version === 'parser' ? readChoice : gradedChoice)(String(input)),
  }),
  'math-extract': ({ response, data_name }) => ({
    value: publishedAnswer(String(response), String(data_name)),
  }),
  'math-equal': ({ prediction, reference }) => ({
    value: publishedEqual(String(prediction), String(reference)),
  }),
  'math-ground-truth'({ example, data_name }) {
    if (unknownUpstream.has(data_name)) throw new RangeError('not known upstream')
    return { value: truth(example as BenchmarkLine, String(data_name)) }
  },
  'math-run'({ response, data_name, reference }) {
    const found = publishedAnswer(String(response), String(data_name)) ?? ''
    const prediction = gradedAnswer(found, String(response), String(reference))
    return { prediction, correct: publishedEqual(prediction, String(reference)) }
  },
}
