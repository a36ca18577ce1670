import type { Sample, Unreadable } from '../sample/sample.ts'

/** Which samples of a request belong together: by group id, else by the same prompt. */
export interface Groups {
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
  readonly results: Promise<ReadonlyMap<Sample, unknown>>
  start(): void
}

/** The groups of a request's rows; one that cannot be read is in none. */
export function gatherGroups(rows: readonly (Sample | Unreadable)[]): Groups {
  // Most plans have no group step: groups are found when first asked for.
  let groups: Map<string, Group> | undefined
  const gatherings = new Map<string, Gathering>()
  const groupOf = (sample: Sample): Group => {
    groups ??= grouped(rows)
    return groups.get(keyOf(sample)) ?? new Group()
  }
  return {
    membersOf: (sample) => groupOf(sample).members,
    sizeOf: (sample) => groupOf(sample).size,
    async together(step, sample, entry, run, patience) {
      const group = groupOf(sample)
      const member = group.memberFor(sample)
      const key = `${step}\n${keyOf(sample)}`
      const gathering = gatherings.get(key) ?? gather(group.members, run as Run, patience)
      gatherings.set(key, gathering)
      if (member === sample) gathering.entries.set(sample, entry)
      if (gathering.entries.size === group.members.length) gathering.start()
      const results = await gathering.results
      if (!results.has(member)) return incomplete
      return (results.get(member) ?? null) as Awaited<ReturnType<typeof run>>[number] | null
    },
  }
}

/** Answers to one prompt. */
class Group {
  readonly members: Sample[] = []
  readonly #byIndex = new Map<number, Sample[]>()
  #said = 0

  get size(): number {
    return Math.max(this.#said, this.members.length)
  }

  /** A retry of a member is none. */
  add(sample: Sample): void {
    const { index, size = 0 } = sample.group ?? {}
    this.#said = Math.max(this.#said, size)
    if (this.memberFor(sample) !== sample) return
    if (index !== undefined) this.#byIndex.set(index, [...(this.#byIndex.get(index) ?? []), sample])
    this.members.push(sample)
  }

  /** The member that a sample is, or is a retry of: the same answer under the same index. */
  memberFor(sample: Sample): Sample {
    const index = sample.group?.index
    const known = index === undefined ? undefined : this.#byIndex.get(index)
    return known?.find(({ response }) => response === sample.response) ?? sample
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
    if (arrived.length < least) return new Map<Sample, unknown>()
    const present = arrived.filter((member) => entries.get(member) !== null)
    const given = present.length > 0 ? await run(present.map((member) => entries.get(member))) : []
    const all = new Map<Sample, unknown>(arrived.map((member) => [member, null]))
    for (const [index, member] of present.entries()) all.set(member, given[index])
    return all
  })
  return { entries, results, start: () => start() }
}

function grouped(rows: readonly (Sample | Unreadable)[]): Map<string, Group> {
  const groups = new Map<string, Group>()
  for (const sample of rows) {
    if ('failure' in sample) continue
    const key = keyOf(sample)
    const group = groups.get(key) ?? new Group()
    groups.set(key, group)
    group.add(sample)
  }
  return groups
}

const keyOf = ({ group, prompt }: Sample): string =>
  group ? `id ${group.id}` : `prompt ${typeof prompt === 'string' ? prompt : JSON.stringify(prompt)}`
