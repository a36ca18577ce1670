import type { Job, JobEnd } from './job.ts'

/** A job that waits, with its caller. */
export interface Waiting {
  readonly job: Job
  readonly end: (end: JobEnd) => void
  /** What waits for the job's end; one that nobody waits for any more is not begun. */
  readonly request: { readonly isOver: boolean } | undefined
  /** How often its executor died while this job ran, or broke the message with its result. */
  deaths: number
  /** How often its executor died before this job had begun, as far as can be told. */
  strays: number
  /** It took longer than a slice, and gets its whole time limit beside the other jobs of its function. */
  isSlow: boolean
}

/** First in, first out. */
export class JobList {
  /** What was taken leaves a hole: a request must not be kept until the next trim. */
  #jobs: (Waiting | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#jobs.length - this.#head
  }

  get first(): Waiting | undefined {
    return this.#jobs[this.#head]
  }

  push(waiting: Waiting): void {
    this.#jobs.push(waiting)
  }

  shift(): void {
    this.#jobs[this.#head++] = undefined
    if (this.length > 0 && this.#head < 4096) return
    this.#jobs = this.#jobs.slice(this.#head)
    this.#head = 0
  }

  /** Back to the front, in their order. */
  putBack(waiting: readonly Waiting[]): void {
    this.#jobs = waiting.concat(this.#jobs.slice(this.#head) as Waiting[])
    this.#head = 0
  }

  /** Takes out those of a function, in their order. */
  takeOut(name: string): readonly Waiting[] {
    const all = this.#jobs.slice(this.#head) as Waiting[]
    this.#jobs = all.filter(({ job }) => job.name !== name)
    this.#head = 0
    return this.#jobs.length === all.length ? [] : all.filter(({ job }) => job.name === name)
  }
}
