import type { Clock } from '../../../core/clock.ts'
import type { Sample, Unreadable } from '../../../core/sample/sample.ts'
import { eachInSlices, inSlices } from '../../../core/slices.ts'
import type { GroupTimes } from '../../../core/stalls/request-times.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { type Groups, incomplete, type Joined, type Joining, type Quorum } from '../context.ts'
import { failedTerm, unforeseen } from '../step.ts'
import { answerKey } from './distinct-answers.ts'
import { Gathering, type GroupRun } from './waiting.ts'

/**
 * The groups of one request: which rows belong together (by group id, or else by prompt and ground truth), and how they wait for
 * each other. A row that cannot be read is in no group.
 */
export class RequestGroups implements Groups {
  readonly #finding: Finding
  readonly #clock: Clock
  readonly #run: GroupRun
  readonly #rows: readonly (Sample | Unreadable)[]
  #waiting: Map<string, Map<Group, Waiting>> | undefined

  constructor(rows: readonly (Sample | Unreadable)[], clock: Clock, run: GroupRun) {
    this.#rows = rows
    this.#finding = new Finding(rows)
    this.#clock = clock
    this.#run = run
  }

  /** Finds the groups of many rows in slices, before the first question about one; null if they are already found. */
  find(): Promise<void> | null {
    return inSlices(() => this.#finding.next())
  }

  /** True if a sample names its group. A sample that does not is alone. */
  isNamed(sample: Sample): boolean {
    return this.#groupOf(sample).size > 0
  }

  /** The members of a sample's group, in request order. Repeats of the same index and response count once. */
  membersOf(sample: Sample): readonly Sample[] {
    return this.#groupOf(sample).members
  }

  /** The size of a sample's group: what its rows claim, or the number that arrived if that is larger. */
  sizeOf(sample: Sample): number {
    return this.#groupOf(sample).size
  }

  /**
   * Waits until every member in this request has joined. `done` is called once for each, in order of arrival, later than `join`
   * returns; a large group takes several turns of the event loop. Callbacks, because tens of thousands of members may wait, and a
   * chain of promises for each of them takes kilobytes.
   */
  join(joining: Joining, quorum: Quorum, done: (joined: Joined) => void): GroupTimes {
    const { step, sample } = joining
    const group = this.#groupOf(sample)
    this.#waiting ??= new Map()
    let ofStep = this.#waiting.get(step.name)
    if (!ofStep) {
      ofStep = new Map()
      this.#waiting.set(step.name, ofStep)
    }
    let waiting = ofStep.get(group)
    if (!waiting) {
      waiting = this.#open(joining, quorum, group)
      ofStep.set(group, waiting)
    }
    const { gathering } = waiting
    waiting.add(joining, done)
    if (group.memberFor(sample) === sample && !gathering.isOver) gathering.add(sample, joining)
    if (gathering.size === group.members.length) gathering.start(quorum.least, group.members)
    return gathering.times
  }

  #open({ context, step }: Joining, quorum: Quorum, group: Group): Waiting {
    // Once the request is over, nobody waits for the answers.
    const isLate = (): boolean => Number.isFinite(quorum.waitMs) && context.end.signal.aborted
    const { times } = context
    const gathering = new Gathering<Sample>(async (present) => {
      if (isLate()) return []
      const owner = times.newOwner()
      gathering.times.runsAs(times, owner)
      return this.#run(
        { ...context, owner },
        step,
        present.map(({ row }) => row as CallRow),
      )
    })
    gathering.times.lacks(() => {
      const missing = group.members.find((member) => !gathering.has(member))
      return missing ? { times, owner: this.#rows.indexOf(missing) } : null
    })
    gathering.startAfter(this.#clock, quorum)
    return new Waiting(gathering, group)
  }

  #groupOf(sample: Sample): Group {
    return this.#finding.all().get(sample) ?? new Group()
  }
}

/** The rows that wait for the results of one group: its members, and retries of these. */
class Waiting {
  readonly gathering: Gathering<Sample>
  readonly #group: Group
  #joined: { readonly joining: Joining; readonly done: (joined: Joined) => void }[] = []
  #isScheduled = false

  constructor(gathering: Gathering<Sample>, group: Group) {
    this.gathering = gathering
    this.#group = group
  }

  add(joining: Joining, done: (joined: Joined) => void): void {
    this.#joined.push({ joining, done })
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.gathering.results.then(
      (results) =>
        this.#tell(({ sample }) => {
          const member = this.#group.memberFor(sample)
          return results.has(member) ? (results.get(member) ?? null) : incomplete
        }),
      (error) => this.#tell(({ context, step }) => failedTerm(context, step, unforeseen(error))),
    )
  }

  /** A later call reports the rows that join after the results exist. */
  #tell(joinedOf: (joining: Joining) => Joined): Promise<void> | null {
    const told = this.#joined
    this.#joined = []
    this.#isScheduled = false
    return eachInSlices(told.length, (index) => {
      const one = told[index]
      if (one) one.done(joinedOf(one.joining))
    })
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

  /** Retries of a member are not members. */
  add(sample: Sample): void {
    const { index, size = 0 } = sample.group ?? {}
    this.#said = Math.max(this.#said, size)
    if (this.memberFor(sample) !== sample) return
    this.members.push(sample)
    if (index === undefined) return
    const answers = this.#byIndex.get(index)
    if (answers) answers.set(answerKey(sample), sample)
    else this.#byIndex.set(index, new Map([[answerKey(sample), sample]]))
  }

  /** The member that a sample is or retries: the same answer under the same index. */
  memberFor(sample: Sample): Sample {
    const index = sample.group?.index
    if (index === undefined) return sample
    return this.#byIndex.get(index)?.get(answerKey(sample)) ?? sample
  }
}

/** Puts rows into groups, one row at a time. */
class Finding {
  readonly #rows: readonly (Sample | Unreadable)[]
  readonly #byKey = new Map<string, Group>()
  // A key may be a prompt of several megabytes.
  readonly #bySample = new Map<Sample, Group>()
  #next = 0

  constructor(rows: readonly (Sample | Unreadable)[]) {
    this.#rows = rows
  }

  all(): ReadonlyMap<Sample, Group> {
    while (this.next());
    return this.#bySample
  }

  /** Processes one row; false if none is left. */
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

/** Answers with the same prompt and different ground truths belong to different problems: a trainer may have left the images out. */
function keyOf({ group, prompt, groundTruth }: Sample): string | null {
  if (group) return `id ${group.id}`
  return isAsked(prompt) ? `prompt ${JSON.stringify([prompt, groundTruth])}` : null
}

/** A visible character that is not only markup. */
const visible = /[^\p{C}\p{Z}]/u

/** True if a prompt contains a question: a text, or an image or another part. A system prompt next to empty turns does not count. */
function isAsked(prompt: Sample['prompt']): boolean {
  if (typeof prompt === 'string') return visible.test(prompt)
  const turns = prompt.filter(({ role }) => role !== 'system' && role !== 'developer')
  return (turns.length > 0 ? turns : prompt).some(
    ({ content, parts }) => visible.test(content) || parts !== undefined,
  )
}
