import type { Sample } from '../sample/sample.ts'

/** Which samples of a request belong together: by group id, else by the same prompt. */
export interface Groups {
  /** The members of a sample's group in the order of the request, itself or its twin among them; a retry is no member. */
  membersOf(sample: Sample): readonly Sample[]
  /**
   * Waits until every member of the group has arrived with its entry (null: takes no part), then runs once for all.
   * Each member's promise resolves with what `run` gave for it, or with `incomplete` where too few came in time.
   */
  together<E, R>(
    step: string,
    sample: Sample,
    entry: E | null,
    run: (entries: readonly E[]) => Promise<readonly R[]>,
    patience: Patience,
  ): Promise<R | null | typeof incomplete>
}

/** How long a group that began to gather waits for the rest, and what it needs. */
export interface Patience {
  /** Members that must have arrived. */
  readonly least: number
  /** Calls `end` when the waiting is over; the returned function takes that back. */
  after(end: () => void): () => void
}

/** In place of a result: too few members came, or this one came too late. */
export const incomplete = Symbol('incomplete')

/** The members that a group step needs: `min` where the config names it, else the whole group, and never under `few`. */
export function leastMembers(members: readonly Sample[], min: number | null, few: number): number {
  const size = Math.max(members.length, ...members.map(({ group }) => group?.size ?? 0))
  return Math.max(min ?? size, few)
}

interface Gathering {
  readonly entries: Map<Sample, unknown>
  readonly results: Promise<ReadonlyMap<Sample, unknown>>
  start(): void
}

export function gatherGroups(samples: readonly Sample[]): Groups {
  // Most plans have no group step: groups are found when first asked for.
  let groups: Map<string, Sample[]> | undefined
  const gatherings = new Map<string, Gathering>()
  const membersOf = (sample: Sample): readonly Sample[] => {
    groups ??= grouped(samples)
    return groups.get(keyOf(sample)) ?? [sample]
  }
  return {
    membersOf,
    async together(step, sample, entry, run, patience) {
      const members = membersOf(sample)
      const member = members.find((one) => one === sample || isRetry(one, sample)) ?? sample
      const key = `${step}\n${keyOf(sample)}`
      const gathering = gatherings.get(key) ?? gather(members, run as Run, patience)
      gatherings.set(key, gathering)
      if (member === sample) gathering.entries.set(sample, entry)
      if (gathering.entries.size === members.length) gathering.start()
      const results = await gathering.results
      if (!results.has(member)) return incomplete
      return (results.get(member) ?? null) as Awaited<ReturnType<typeof run>>[number] | null
    },
  }
}

type Run = (entries: readonly unknown[]) => Promise<readonly unknown[]>

function gather(members: readonly Sample[], run: Run, { least, after }: Patience): Gathering {
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

function grouped(samples: readonly Sample[]): Map<string, Sample[]> {
  const groups = new Map<string, Sample[]>()
  for (const sample of samples) {
    const members = groups.get(keyOf(sample))
    if (!members) groups.set(keyOf(sample), [sample])
    else if (!members.some((member) => isRetry(member, sample))) members.push(sample)
  }
  return groups
}

const isRetry = (a: Sample, b: Sample): boolean =>
  a.group?.index !== undefined && a.group.index === b.group?.index

const keyOf = ({ group, prompt }: Sample): string =>
  group ? `id ${group.id}` : `prompt ${typeof prompt === 'string' ? prompt : JSON.stringify(prompt)}`
