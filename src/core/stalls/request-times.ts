/**
 * Where the time of a request's rows goes. The engine notes each wait of a row as it begins and ends; the critical path is found
 * afterwards, backwards from the row's outcome: what ended last before a moment is what the row waited for until then.
 */

/** What a stretch of time was spent on. docs/stalls.md defines each. */
export const stallCauses = [
  'rule',
  'line',
  'answer',
  'hung',
  'sandbox',
  'group',
  'parked',
  'gateway',
] as const

export type StallCause = (typeof stallCauses)[number]

const indexOf = Object.fromEntries(stallCauses.map((cause, at) => [cause, at])) as Record<StallCause, number>

/** A stretch of one row's time, in milliseconds on the clock. `model`: the model or sandbox; '' for other causes. */
export interface Spell {
  readonly cause: StallCause
  readonly model: string
  readonly from: number
  readonly to: number
}

/** Follows what a question waits for, change by change. */
export interface QuestionWatch {
  /** From `now` on the question waits for this. */
  enters(cause: StallCause, now: number): void
  /** The call that it waited for brought no answer. */
  failed(): void
  /** A call that began at `since` answered before an earlier one. */
  overtaken(since: number): void
}

/** What one question waited for, from the start to the end. Questions that share a call share the marks. */
export class QuestionTimes implements QuestionWatch {
  /** Indices of causes and the times at which they began, in order. Numbers with a fraction: V8 then boxes none of them. */
  #marks: number[] = [0.5, 0]

  enters(cause: StallCause, now: number): void {
    const marks = this.#marks
    const index = indexOf[cause]
    if (marks[marks.length - 2] !== index) marks.push(index, now)
  }

  failed(): void {
    const at = this.#marks.length - 2
    if (this.#marks[at] === indexOf.answer) this.#marks[at] = indexOf.hung
  }

  overtaken(since: number): void {
    this.failed()
    this.#marks.push(indexOf.answer, since)
  }

  /** What the question waits for at this moment. */
  get current(): StallCause {
    const { length } = this.#marks
    return length > 2 ? (stallCauses[this.#marks[length - 2] as number] as StallCause) : 'gateway'
  }

  /** Waits for the same call as another question from now on. */
  share(other: QuestionTimes): void {
    this.#marks = other.#marks
  }

  /**
   * The spells between two times, the newest first. Time before the first mark is the gateway's. `isAnswered`: a call without an
   * answer at the end was for nothing.
   */
  *spells(model: string, from: number, to: number, isAnswered: boolean): Generator<Spell> {
    const marks = this.#marks
    let end = to
    for (let at = marks.length - 2; at > 0 && end > from; at -= 2) {
      const said = stallCauses[marks[at] as number] as StallCause
      const since = Math.max(from, marks[at + 1] as number)
      if (since >= end) continue
      const cause = said === 'answer' && !isAnswered && at === marks.length - 2 ? 'hung' : said
      yield { cause, model: cause === 'gateway' ? '' : model, from: since, to: end }
      end = since
    }
    if (end > from) yield { cause: 'gateway', model: '', from, to: end }
  }
}

/** Tells several questions of the call that they share. */
export const watchAll = (all: readonly (QuestionWatch | undefined)[]): QuestionWatch => ({
  enters(cause, now) {
    for (const one of all) one?.enters(cause, now)
  },
  failed() {
    for (const one of all) one?.failed()
  },
  overtaken(since) {
    for (const one of all) one?.overtaken(since)
  },
})

/** A wait of one row or of one group's run. */
export interface Wait {
  readonly cause: StallCause
  readonly model: string
  readonly from: number
  /** Infinity while it lasts. */
  to: number
  /** False until a question has its answer. */
  isAnswered: boolean
  readonly question: QuestionTimes | null
  readonly group: GroupTimes | null
  /** The owner's wait before this one. */
  readonly before: Wait | undefined
}

/** `model`: the model or sandbox; '' for other causes. */
type Waited = Pick<Wait, 'cause' | 'model'>

/** How a group came together: whom it waited for, and the run that compared its answers. */
export class GroupTimes {
  #last: Owned | null = null
  #begun = Number.POSITIVE_INFINITY
  #run: Owned | null = null
  /** A member that has not come; null if none of this request is missing. */
  #missing: () => Owned | null = () => null
  /** Found once: each of many members waited for the same comparisons. */
  #runSpells: readonly Spell[] | null = null
  #other: GroupTimes | null = null

  /** Another request's group is the same. */
  isThatOf(other: GroupTimes): void {
    this.#other = other
  }

  /** A member has come. */
  joined(times: RequestTimes, owner: number): void {
    this.#last = { times, owner }
  }

  /** The wait was over before all members had come. */
  gaveUp(): void {
    this.#last = null
  }

  begun(now: number): void {
    this.#begun = now
  }

  runsAs(times: RequestTimes, owner: number): void {
    this.#run = { times, owner }
  }

  lacks(missing: () => Owned | null): void {
    this.#missing = missing
  }

  /**
   * The critical path of a member that waited from `joined` to `to`, the newest spell first. It goes on in the member that came
   * last, down to `from`; returns false if there is none, and the path goes on in the row itself.
   */
  *spells(from: number, joined: number, to: number, depth: number): Generator<Spell, boolean> {
    if (this.#other) return yield* this.#other.spells(from, joined, to, depth)
    const begun = Math.min(Math.max(this.#begun, joined), to)
    if (to > begun) yield* this.#compared(begun, to, depth)
    // Its last member has come already.
    if (this.#begun <= joined) return false
    const last = this.#begun <= to ? this.#last : this.#missing()
    if (!last) {
      if (begun > joined) yield { cause: 'group', model: '', from: joined, to: begun }
      return false
    }
    const came = Math.min(Math.max(from, last.times.arrived), begun)
    yield* last.times.path(last.owner, came, begun, depth)
    if (came > from) yield { cause: 'group', model: '', from, to: came }
    return true
  }

  /** What the group waits for at this moment; null: for a member that has not come. */
  current(depth: number): Waited | null {
    if (this.#other) return this.#other.current(depth)
    const awaited = this.#begun < Number.POSITIVE_INFINITY ? this.#run : this.#missing()
    return awaited?.times.current(awaited.owner, depth) ?? null
  }

  *#compared(from: number, to: number, depth: number): Generator<Spell> {
    const run = this.#run
    if (run) this.#runSpells ??= [...run.times.path(run.owner, this.#begun, to, depth)]
    let end = to
    for (const spell of this.#runSpells ?? []) {
      const until = Math.min(spell.to, end)
      const since = Math.max(spell.from, from)
      if (since >= until) continue
      if (until < end) yield { cause: 'gateway', model: '', from: until, to: end }
      yield { ...spell, from: since, to: until }
      end = since
    }
    if (end > from) yield { cause: 'gateway', model: '', from, to: end }
  }
}

interface Owned {
  readonly times: RequestTimes
  readonly owner: number
}

/** Of a wait with its question's marks. */
const waitBytes = 256
/** Deeper chains of groups that wait for groups are the gateway's time. */
const maxDepth = 16

/** The waits of one request's rows. An owner is a row's index, or the number that `newOwner` gave to a run over a group. */
export class RequestTimes {
  /** When the request had been received, on the clock. */
  readonly arrived: number
  /** When scoring began, on the clock. */
  readonly began: number
  /** What its rows waited for in earlier tries, oldest first. */
  readonly #earlier: readonly Spell[]
  #owners: number
  readonly #last: (Wait | undefined)[] = []
  #waits = 0
  /** Functions in worker threads: when each began, when it ended, and the owner's one before. Written flat: rows are many. */
  readonly #rules: number[] = []
  readonly #lastRule: (number | undefined)[] = []

  constructor(rows: number, began: number, arrived = began, earlier: readonly Spell[] = []) {
    this.#owners = rows
    this.began = began
    this.arrived = Math.min(arrived, began)
    this.#earlier = earlier
  }

  /** The same for one row whose outcome came `ms` after scoring began, without what the other rows waited for. */
  ofRow(row: number, ms: number): RequestTimes {
    const only = new RequestTimes(1, this.began, this.arrived, this.#earlier)
    for (const { cause, model, from, to } of this.spellsOf(row, ms))
      if (cause !== 'gateway') only.wait(0, cause, model, from).to = to
    return only
  }

  newOwner(): number {
    return this.#owners++
  }

  /** Estimated memory of the waits. */
  get bytes(): number {
    return waitBytes * this.#waits + 8 * this.#rules.length
  }

  /** Returns what `ruleEnded` needs. */
  ruleBegan(owner: number, now: number): number {
    const at = this.#rules.length
    this.#rules.push(now, Number.POSITIVE_INFINITY, this.#lastRule[owner] ?? -1)
    this.#lastRule[owner] = at
    return at
  }

  ruleEnded(at: number, now: number): void {
    this.#rules[at + 1] = now
  }

  /** What an owner waits for at this moment; of several, what it has waited for longest. null: nothing was noted. */
  current(owner: number, depth = 0): Waited | null {
    let first: Wait | null = null
    for (let wait = this.#last[owner]; wait; wait = wait.before)
      if (wait.to === Number.POSITIVE_INFINITY) first = wait
    if (first) return currentOf(first, depth)
    for (let at = this.#lastRule[owner] ?? -1; at >= 0; at = this.#rules[at + 2] as number)
      if (this.#rules[at + 1] === Number.POSITIVE_INFINITY) return { cause: 'rule', model: '' }
    return null
  }

  /** Notes a wait that begins; set its end. */
  wait(
    owner: number,
    cause: StallCause,
    model: string,
    now: number,
    more: { readonly question?: QuestionTimes; readonly group?: GroupTimes } = {},
  ): Wait {
    const wait: Wait = {
      cause,
      model,
      from: now,
      to: Number.POSITIVE_INFINITY,
      isAnswered: false,
      question: more.question ?? null,
      group: more.group ?? null,
      before: this.#last[owner],
    }
    this.#last[owner] = wait
    this.#waits += 1
    return wait
  }

  /** The spells from `from` to `to` without gaps, the newest first. What no wait explains is the gateway's. */
  *path(owner: number, from: number, to: number, depth = 0): Generator<Spell> {
    const rules = this.#rules
    let now = to
    let isEnd = true
    while (now > from) {
      let best: Wait | null = null
      let bestFrom = 0
      let bestTo = Number.NEGATIVE_INFINITY
      // Of those that ended together, the one that began first explains most.
      const isBetter = (began: number, ended: number): boolean =>
        began < now && (ended > bestTo || (ended === bestTo && began < bestFrom))
      const endOf = (ended: number): number => (isEnd && ended === Number.POSITIVE_INFINITY ? now : ended)
      for (let wait = this.#last[owner]; wait; wait = wait.before) {
        const ended = endOf(wait.to)
        if (ended > now || ended <= from || !isBetter(wait.from, ended)) continue
        best = wait
        bestFrom = wait.from
        bestTo = ended
      }
      for (let at = this.#lastRule[owner] ?? -1; at >= 0; at = rules[at + 2] as number) {
        const ended = endOf(rules[at + 1] as number)
        if (ended > now || ended <= from || !isBetter(rules[at] as number, ended)) continue
        best = null
        bestFrom = rules[at] as number
        bestTo = ended
      }
      isEnd = false
      if (bestTo === Number.NEGATIVE_INFINITY) break
      if (bestTo < now) yield { cause: 'gateway', model: '', from: bestTo, to: now }
      const began = Math.max(from, bestFrom)
      if (best?.group && depth < maxDepth) {
        if (yield* best.group.spells(from, began, bestTo, depth + 1)) return
      } else if (best) yield* expanded(best, began, bestTo)
      else yield { cause: 'rule', model: '', from: began, to: bestTo }
      now = began
    }
    if (now > from) yield { cause: 'gateway', model: '', from, to: now }
  }

  /** A row's spells from the arrival of its request to its outcome, `ms` after scoring began; oldest first, neighbours joined. */
  spellsOf(row: number, ms: number): readonly Spell[] {
    const all = [...this.#before(), ...[...this.path(row, this.began, this.began + ms)].reverse()]
    const joined: Spell[] = []
    for (const spell of all) {
      const before = joined.at(-1)
      if (before?.cause === spell.cause && before.model === spell.model)
        joined[joined.length - 1] = { ...before, to: spell.to }
      else joined.push(spell)
    }
    return joined
  }

  /** From the arrival to the beginning, oldest first: earlier tries, and the gateway. */
  *#before(): Generator<Spell> {
    let now = this.arrived
    for (const { from, to, ...spell } of this.#earlier) {
      const since = Math.max(now, from)
      const until = Math.min(to, this.began)
      if (since >= until) continue
      if (since > now) yield { cause: 'gateway', model: '', from: now, to: since }
      yield { ...spell, from: since, to: until }
      now = until
    }
    if (now < this.began) yield { cause: 'gateway', model: '', from: now, to: this.began }
  }
}

function currentOf({ cause, model, question, group }: Wait, depth: number): Waited {
  if (question) return { cause: question.current, model }
  return (group && depth < maxDepth ? group.current(depth + 1) : null) ?? { cause, model }
}

function* expanded({ cause, model, question, isAnswered }: Wait, from: number, to: number): Generator<Spell> {
  if (question) yield* question.spells(model, from, to, isAnswered)
  else yield { cause, model, from, to }
}
