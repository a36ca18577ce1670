import type { Json } from '../../core/sample/sample.ts'
import type { FunctionSource } from './discover.ts'
import type { Call } from './function-host.ts'
import type { FunctionJob, JobEnd, JobRunner } from './job.ts'
import { type Loaded, loader } from './worker/load.ts'
import { runJob } from './worker/run-job.ts'

/**
 * Functions of this package that take microseconds: judges that fill a template and read a short reply, and rules that
 * look for one answer. Waking a thread twice was two fifths of the CPU of a judged sample that comes alone
 * (`npm run judged`). Each runs in linear time, and a test checks that. They import the files of `grading` that they need and
 * not its index, which takes 40 ms and 9 MiB of every start (`npm run start-up` in bench/).
 */
export const inPlaceFunctions: ReadonlySet<string> = new Set([
  'choice-match',
  'countdown',
  'critique',
  'decision-judge',
  'exact-match',
  'format-tags',
  'gsm8k',
  'gsm8k-boxed',
  'gsm8k-progressive',
  'gsm8k-stock',
  'listwise-judge',
  'numeric-match',
  'pairwise-judge',
  'rubric-judge',
  'scalar-score',
  'search-em',
  'search-subem',
  'yes-no-judge',
])

/** Maximum characters of a call on the main thread: 1 to 2 ms of work, or 20 ms with hostile texts. */
export const inPlaceLimit: Readonly<Record<Call['op'], number>> = {
  score: 65_536,
  preprocess: 262_144,
  postprocess: 262_144,
  combine: 262_144,
}

/** Time budget in ms of all rules in one turn of the event loop. The threads run the rest. */
const turnMs = 16

/** Deeper ground truths go to the threads. */
const deepest = 4

/**
 * Runs these functions on the main thread. Calls over the limit or the turn's budget go to `threads`, which it does not
 * close. Rules run after the events of a turn, because answers that leave together wake a client once.
 */
export function inPlace(sources: readonly FunctionSource[], threads: JobRunner): JobRunner {
  const functions = loader(sources)
  let isClosed = false
  let rules: Waiting[] = []
  const runRules = () => {
    const turn = rules
    rules = []
    const until = performance.now() + turnMs
    for (const { loaded, job, end, request } of turn) {
      const now = performance.now()
      if (now < until) end(ended(loaded, job, now))
      else threads.run(job, end, request)
    }
  }
  return {
    run(job, end, request) {
      const loaded = functions.loaded.get(job.name)
      if (isClosed) end({ status: 'closed' })
      else if (!loaded) void functions.load(job.name).then((fresh) => end(ended(fresh, job)))
      else if (job.type === 'call' && isLong(job)) threads.run(job, end, request)
      else if (job.type !== 'call' || job.op !== 'score') end(ended(loaded, job))
      else if (rules.push({ loaded, job, end, request }) === 1) setImmediate(runRules)
    },
    async close() {
      isClosed = true
    },
  }
}

interface Waiting {
  readonly loaded: Loaded
  readonly job: FunctionJob
  readonly end: (end: JobEnd) => void
  readonly request: { readonly isOver: boolean } | undefined
}

function ended(loaded: Loaded, job: FunctionJob, began = performance.now()): JobEnd {
  const result = runJob(loaded, job, true)
  return { status: 'done', result, ms: performance.now() - began }
}

function isLong({ op, rows, answer }: Extract<FunctionJob, { type: 'call' }>): boolean {
  let left = inPlaceLimit[op]
  for (const { sample, earlier } of rows) {
    left -= sample.response.length + (sample.rmPrompt?.length ?? 0)
    if (typeof sample.prompt === 'string') left -= sample.prompt.length
    else for (const { content } of sample.prompt) left -= content.length
    for (const { content, reasoning = '', toolCalls = [] } of sample.turns ?? []) {
      left -= content.length + reasoning.length
      for (const { arguments: given } of toolCalls) left = lessJson(left, given)
    }
    left = lessJson(left, sample.groundTruth)
    for (const name in earlier) for (const text of earlier[name]?.texts ?? []) left -= text.length
  }
  if (typeof answer === 'object' && 'reply' in answer) return lessJson(left, answer.reply) < 0
  if (typeof answer === 'object' && 'text' in answer && typeof answer.text === 'string')
    left -= answer.text.length
  return left < 0
}

/** Subtracts a value's characters from `left`; negative if the value nests too deep. */
function lessJson(left: number, value: Json, depth = 0): number {
  if (typeof value === 'string') return left - value.length
  if (typeof value !== 'object' || value === null) return left - 1
  if (depth > deepest) return -1
  let rest = left
  for (const [key, item] of Object.entries(value)) {
    if (rest < 0) break
    rest = lessJson(rest - key.length, item, depth + 1)
  }
  return rest
}
