import type { Job, JobEnd, JobResult, JobRunner } from './job.ts'
import type { FunctionSource } from './source.ts'
import { bind, describe } from './worker/describe.ts'
import { type Loaded, loader } from './worker/load.ts'
import { runCall } from './worker/run-call.ts'

/**
 * The package's judges whose hooks only fill a template and read a short reply. Waking a thread twice a sample costs
 * more than they do. What belongs here is linear in its texts; a test holds each of them to it.
 */
export const inPlaceFunctions: ReadonlySet<string> = new Set([
  'critique',
  'listwise-judge',
  'pairwise-judge',
  'scalar-score',
  'yes-no-judge',
])

/** Characters of one call's texts that are read on the main thread at most: a millisecond's work. */
export const inPlaceLimit = 262_144

/** Runs the package's own judges on the main thread; what is longer than the limit goes to `threads`, which it does not close. */
export function inPlace(sources: readonly FunctionSource[], threads: JobRunner): JobRunner {
  const load = loader(sources)
  let isClosed = false
  return {
    run(job, end) {
      const loaded = load.cached(job.name)
      if (isClosed) end({ status: 'closed' })
      else if (!loaded) void load.fresh(job.name).then((fresh) => end(ended(fresh, job)))
      else if (job.type === 'call' && isLong(job)) threads.run(job, end)
      else end(ended(loaded, job))
    },
    async close() {
      isClosed = true
    },
  }
}

function ended(loaded: Loaded, job: Job): JobEnd {
  const began = performance.now()
  const result = run(loaded, job)
  return { status: 'done', result, ms: performance.now() - began }
}

function run(loaded: Loaded, job: Job): JobResult {
  if (!loaded.ok) return { type: 'invalid', reason: loaded.reason }
  if (job.type === 'describe') return describe(job.name, loaded.fn)
  return job.type === 'bind' ? bind(loaded.fn, job.options) : runCall(loaded.fn, job, true)
}

function isLong({ rows, answer }: Extract<Job, { type: 'call' }>): boolean {
  let left = inPlaceLimit
  for (const { sample, earlier } of rows) {
    left -= sample.response.length + (sample.rmPrompt?.length ?? 0)
    if (typeof sample.prompt === 'string') left -= sample.prompt.length
    else for (const { content } of sample.prompt) left -= content.length
    for (const name in earlier) for (const text of earlier[name]?.texts ?? []) left -= text.length
  }
  if (typeof answer === 'object' && 'text' in answer && typeof answer.text === 'string')
    left -= answer.text.length
  return left < 0
}
