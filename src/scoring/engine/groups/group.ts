import type { Sample, Unreadable } from '../../../core/sample/sample.ts'
import { inSlices } from '../../../core/slices.ts'

/** Which samples of a request belong together: by group id, else by the same prompt and ground truth. */
export interface RequestGroups {
  /** Finds the groups of many rows in slices, ahead of the first question after one; null: they are found. */
  find(): Promise<void> | null
  /** Whether a sample says of which group it is. One that does not is alone. */
  isNamed(sample: Sample): boolean
  /** The members of a sample's group in the order of the request, itself or its twin among them; a retry is no member. */
  membersOf(sample: Sample): readonly Sample[]
  /** Answers that its group has: as many as its rows say, or as came where these are more. */
  sizeOf(sample: Sample): number
  /**
   * Waits until every member of the group has arrived with its entry (null: takes no part), then runs once for all.
   * Each member's promise resolves with what `run` gave for it, or with `incomplete` where too few came in time.
   */
  together<E, R>(
    step: string,
    sample: Sample,
    entry: E | null,
    run: (entries: readonly E[]) => Promise<readonly R[]>,
    quorum: Quorum,
  ): Promise<R | null | typeof incomplete>
}

/** How long a group that began to gather waits for the rest, and what it needs. */
export interface Quorum {
  /** Members that must have arrived. */
  readonly least: number
  /** Calls `end` when the waiting is over; the returned function takes that back. */
  after(end: () => void): () => void
}

/** In place of a result: too few members came, or this one came too late. */
export const incomplete = Symbol('incomplete')

interface Gathering {
  readonly entries: Map<Sample, unknown>
  /** What `run` gave for this member. */
  resultFor(member: Sample): Promise<unknown>
  start(): void
}

/** The groups of a request's rows; one that cannot be read is in none. */
export function gatherGroups(rows: readonly (Sample | Unreadable)[]): RequestGroups {
  const finding = new Finding(rows)
  const gatherings = new Map<string, Map<Group, Gathering>>()
  const groupOf = (sample: Sample): Group => finding.all().get(sample) ?? new Group()
  return {
    find: () => inSlices(() => finding.next()),
    isNamed: (sample) => groupOf(sample).size > 0,
    membersOf: (sample) => groupOf(sample).members,
    sizeOf: (sample) => groupOf(sample).size,
    async together(step, sample, entry, run, patience) {
      const group = groupOf(sample)
      const member = group.memberFor(sample)
      const ofStep = gatherings.get(step) ?? new Map<Group, Gathering>()
      gatherings.set(step, ofStep)
      const gathering = ofStep.get(group) ?? gather(group.members, run as Run, patience)
      ofStep.set(group, gathering)
      if (member === sample) gathering.entries.set(sample, entry)
      if (gathering.entries.size === group.members.length) gathering.start()
      return (await gathering.resultFor(member)) as Awaited<ReturnType<typeof run>>[number] | null
    },
  }
}

/** Answers to one prompt. */
class Group {
  readonly members: Sample[] = []
  readonly #byIndex = new Map<number, Map<string, Sample>>()
  #said = 0

  get size(): number {
    return Math.max(this.#said, this.members.length)
  }

  /** A retry of a member is none. */
  add(sample: Sample): void {
    const { index, size = 0 } = sample.group ?? {}
    this.#said = Math.max(this.#said, size)
    if (this.memberFor(sample) !== sample) return
    this.members.push(sample)
    if (index === undefined) return
    const answers = this.#byIndex.get(index)
    if (answers) answers.set(sample.response, sample)
    else this.#byIndex.set(index, new Map([[sample.response, sample]]))
  }

  /** The member that a sample is, or is a retry of: the same answer under the same index. */
  memberFor(sample: Sample): Sample {
    const index = sample.group?.index
    if (index === undefined) return sample
    return this.#byIndex.get(index)?.get(sample.response) ?? sample
  }
}

type Run = (entries: readonly unknown[]) => Promise<readonly unknown[]>

function gather(members: readonly Sample[], run: Run, { least, after }: Quorum): Gathering {
  const entries = new Map<Sample, unknown>()
  let start = (): void => {}
  const over = new Promise<void>((resolve) => {
    start = resolve
  })
  const cancel = after(() => start())
  const results = over.then(async () => {
    cancel()
    // Whoever comes from here on is too late.
    const arrived = members.filter((member) => entries.has(member))
    const all = new Map<Sample, unknown>()
    if (arrived.length < least) return all
    const present = arrived.filter((member) => entries.get(member) !== null)
    const given = present.length > 0 ? await run(present.map((member) => entries.get(member))) : []
    for (const member of arrived) all.set(member, null)
    for (const [index, member] of present.entries()) all.set(member, given[index])
    return all
  })
  const released = releaser(results)
  return {
    entries,
    async resultFor(member) {
      await released()
      const all = await results
      return all.has(member) ? (all.get(member) ?? null) : incomplete
    },
    start: () => start(),
  }
}

/** Members of a group that hear of its end in one turn of the loop. */
const releasedAtOnce = 512

/** Waits for an end that tens of thousands may wait for: those who came first hear of it first. */
function releaser(end: Promise<unknown>): () => Promise<void> {
  const waiting: (() => void)[] = []
  let isOver = false
  let at = 0
  const releaseSome = (): void => {
    const until = Math.min(waiting.length, at + releasedAtOnce)
    while (at < until) waiting[at++]?.()
    if (at < waiting.length) setImmediate(releaseSome)
    else isOver = true
  }
  end.then(releaseSome, releaseSome)
  return () => (isOver ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)))
}

/** Most plans have no group step: groups are found when first asked for. */
class Finding {
  readonly #rows: readonly (Sample | Unreadable)[]
  readonly #byKey = new Map<string, Group>()
  // A key may be a prompt of megabytes.
  readonly #bySample = new Map<Sample, Group>()
  #next = 0

  constructor(rows: readonly (Sample | Unreadable)[]) {
    this.#rows = rows
  }

  all(): ReadonlyMap<Sample, Group> {
    while (this.next());
    return this.#bySample
  }

  /** Takes one row; false: there is none left. */
  next(): boolean {
    const sample = this.#rows[this.#next]
    if (sample === undefined) return false
    this.#next += 1
    const key = 'failure' in sample ? null : keyOf(sample)
    if (key !== null) this.#add(sample as Sample, key)
    return true
  }

  #add(sample: Sample, key: string): void {
    const group = this.#byKey.get(key) ?? new Group()
    this.#byKey.set(key, group)
    group.add(sample)
    this.#bySample.set(sample, group)
  }
}

/** Answers with one prompt and different truths are to different problems, which images or tables told apart. */
function keyOf({ group, prompt, groundTruth }: Sample): string | null {
  if (group) return `id ${group.id}`
  return isAsked(prompt) ? `prompt ${JSON.stringify([prompt, groundTruth])}` : null
}

/** Something that can be seen; marks that only format a text say nothing. */
const visible = /[^\p{C}\p{Z}]/u

/** Whether a prompt says what was asked. Beside turns that say nothing, an image perhaps, a system prompt does not. */
function isAsked(prompt: Sample['prompt']): boolean {
  if (typeof prompt === 'string') return visible.test(prompt)
  const turns = prompt.filter(({ role }) => role !== 'system' && role !== 'developer')
  return (turns.length > 0 ? turns : prompt).some(({ content }) => visible.test(content))
}
