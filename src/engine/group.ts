import type { Sample } from '../sample/sample.ts'

/** Which samples of a request belong together: by group id, else by the same prompt. */
export interface Groups {
  /** The members of a sample's group in the order of the request, itself or its twin among them; a retry is no member. */
  membersOf(sample: Sample): readonly Sample[]
  /**
   * Waits until every member of the group has arrived with its entry (null: takes no part), then runs once for all.
   * Each member's promise resolves with what `run` gave for it.
   */
  together<E, R>(
    step: string,
    sample: Sample,
    entry: E | null,
    run: (entries: readonly E[]) => Promise<readonly R[]>,
  ): Promise<R | null>
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
    async together(step, sample, entry, run) {
      const members = membersOf(sample)
      const member = members.find((one) => one === sample || isRetry(one, sample)) ?? sample
      const key = `${step}\n${keyOf(sample)}`
      const gathering = gatherings.get(key) ?? gather(members, run as Run)
      gatherings.set(key, gathering)
      if (member === sample) gathering.entries.set(sample, entry)
      if (gathering.entries.size === members.length) gathering.start()
      const results = await gathering.results
      return (results.get(member) ?? null) as Awaited<ReturnType<typeof run>>[number] | null
    },
  }
}

type Run = (entries: readonly unknown[]) => Promise<readonly unknown[]>

function gather(members: readonly Sample[], run: Run): Gathering {
  const entries = new Map<Sample, unknown>()
  let start = (): void => {}
  const complete = new Promise<void>((resolve) => {
    start = resolve
  })
  const results = complete.then(async () => {
    const present = members.filter((member) => entries.get(member) !== null)
    const given = present.length > 0 ? await run(present.map((member) => entries.get(member))) : []
    return new Map(present.map((member, index) => [member, given[index]]))
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
