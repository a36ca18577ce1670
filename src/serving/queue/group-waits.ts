import { groupKeyOf } from './group-ends.ts'
import type { Pending } from './run-state.ts'
import type { RunStore } from './run-store.ts'

/** Answers that wait for the others of their group. */
export interface WaitingGroup {
  readonly store: RunStore
  readonly members: Set<Pending>
  /** Answers that it needs, as the last one said. */
  size: number
  /** Of what its members sent. */
  bytes: number
}

/** Groups that were too large, whose other answers may still come. */
const mostLarge = 256

/** Members of groups that are not complete. Only their places on disk are in memory. */
export class GroupWaits {
  readonly #groups = new Map<RunStore, Map<string, WaitingGroup>>()
  readonly #keys = new Map<Pending, string>()
  /** Name of a group that was too large -> how many of its answers have not come. */
  readonly #large = new Map<string, number>()

  /** Adds a member of a group. Returns the group. */
  add(store: RunStore, pending: Pending): WaitingGroup {
    const key = groupKeyOf(pending.head) ?? ''
    const own = this.#groups.get(store) ?? new Map<string, WaitingGroup>()
    this.#groups.set(store, own)
    const group = own.get(key) ?? { store, members: new Set(), size: 0, bytes: 0 }
    own.set(key, group)
    group.members.add(pending)
    group.size = pending.head.size ?? 0
    group.bytes += pending.bodyBytes
    this.#keys.set(pending, key)
    return group
  }

  has(pending: Pending): boolean {
    return this.#keys.has(pending)
  }

  /** The group that waits under the name of this answer's group; undefined if none does. */
  groupOf(store: RunStore, { head }: Pending): WaitingGroup | undefined {
    return this.#groups.get(store)?.get(groupKeyOf(head) ?? '')
  }

  /** Whether its answers have more bytes than this, or had, with those that came before. */
  isTooLarge({ store, members, size, bytes }: WaitingGroup, most: number): boolean {
    const [first] = members as unknown as [Pending]
    const name = `${store.run}\n${groupKeyOf(first.head)}`
    const missing = this.#large.get(name)
    if (missing === undefined && bytes <= most) return false
    const left = (missing ?? size) - members.size
    this.#large.delete(name)
    if (left > 0) this.#large.set(name, left)
    if (this.#large.size > mostLarge) this.#large.delete([...this.#large.keys()][0] ?? '')
    return true
  }

  /** Ends the waiting of a group. Returns its members, in order of arrival. */
  take({ store, members }: WaitingGroup): readonly Pending[] {
    const taken = [...members]
    for (const member of taken) this.delete(store, member)
    return taken
  }

  delete(store: RunStore, pending: Pending): void {
    const key = this.#keys.get(pending)
    const own = this.#groups.get(store)
    const group = own?.get(key ?? '')
    if (key === undefined || !own || !group) return
    this.#keys.delete(pending)
    group.members.delete(pending)
    group.bytes -= pending.bodyBytes
    if (group.members.size === 0) own.delete(key)
    if (own.size === 0) this.#groups.delete(store)
  }
}
