import type { Json } from '../../core/sample/sample.ts'
import type { FunctionSource } from './discover.ts'
import type { Call } from './function-host.ts'
import type { Job, JobEnd, JobResult, JobRunner } from './job.ts'
import { type Loaded, loader } from './worker/load.ts'
import { bind, describe, runCall } from './worker/run-job.ts'

/**
 * The package's functions that take microseconds: judges whose hooks fill a template and read a short reply, rules that
 * look for one answer. Waking a thread costs more than they do. Each is linear in its texts; a test holds it to that.
 */
export const inPlaceFunctions: ReadonlySet<string> = new Set([
  'choice-match',
  'countdown',
  'critique',
  'exact-match',
  'format-tags',
  'gsm8k',
  'gsm8k-boxed',
  'gsm8k-progressive',
  'gsm8k-stock',
  'listwise-judge',
  'numeric-match',
  'pairwise-judge',
  'scalar-score',
  'search-em',
  'search-subem',
  'yes-no-judge',
])

/** Characters of one call's texts that are read on the main thread at most: a millisecond's work or two, of hostile texts 20. */
export const inPlaceLimit: Readonly<Record<Call['op'], number>> = {
  score: 65_536,
  preprocess: 262_144,
  postprocess: 262_144,
}

/** What the rules of one turn of the loop take here at most, but for the call that passes it; the threads do the rest. */
const turnMs = 16

/** Ground truths nest no deeper on the main thread. */
const deepest = 4

/**
 * Runs those functions on the main thread; what is longer than the limit or more than a turn's share goes to `threads`,
 * which it does not close. Rules run after the events of a turn: answers that leave together wake a client once.
 */
export function inPlace(sources: readonly FunctionSource[], threads: JobRunner): JobRunner {
  const load = loader(sources)
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
      const loaded = load.cached(job.name)
      if (isClosed) end({ status: 'closed' })
      else if (!loaded) void load.fresh(job.name).then((fresh) => end(ended(fresh, job)))
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
  readonly job: Job
  readonly end: (end: JobEnd) => void
  readonly request: { readonly isOver: boolean } | undefined
}

function ended(loaded: Loaded, job: Job, began = performance.now()): JobEnd {
  const result = run(loaded, job)
  return { status: 'done', result, ms: performance.now() - began }
}

function run(loaded: Loaded, job: Job): JobResult {
  if (!loaded.ok) return { type: 'invalid', reason: loaded.reason }
  if (job.type === 'describe') return describe(job.name, loaded.fn)
  return job.type === 'bind' ? bind(loaded.fn, job.options) : runCall(loaded.fn, job, true)
}

function isLong({ op, rows, answer }: Extract<Job, { type: 'call' }>): boolean {
  let left = inPlaceLimit[op]
  for (const { sample, earlier } of rows) {
    left -= sample.response.length + (sample.rmPrompt?.length ?? 0)
    if (typeof sample.prompt === 'string') left -= sample.prompt.length
    else for (const { content } of sample.prompt) left -= content.length
    left = lessJson(left, sample.groundTruth)
    for (const name in earlier) for (const text of earlier[name]?.texts ?? []) left -= text.length
  }
  if (typeof answer === 'object' && 'text' in answer && typeof answer.text === 'string')
    left -= answer.text.length
  return left < 0
}

/** What is left of `left` characters after a value's texts; nothing where it is too deep to tell. */
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
