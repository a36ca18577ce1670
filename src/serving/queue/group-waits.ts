import { groupKeyOf } from './group-ends.ts'
import type { Pending } from './run-state.ts'
import type { RunStore } from './run-store.ts'

/** Answers that wait for the others of their group. */
export interface WaitingGroup {
  readonly store: RunStore
  readonly members: Set<Pending>
  /** Answers that it needs, as the last one said. */
  size: number
}

/** Members of groups that are not complete. Only their places on disk are in memory. */
export class GroupWaits {
  readonly #groups = new Map<RunStore, Map<string, WaitingGroup>>()
  readonly #keys = new Map<Pending, string>()

  /** Adds a member of a group. Returns the group. */
  add(store: RunStore, pending: Pending): WaitingGroup {
    const key = groupKeyOf(pending.head) ?? ''
    const own = this.#groups.get(store) ?? new Map<string, WaitingGroup>()
    this.#groups.set(store, own)
    const group = own.get(key) ?? { store, members: new Set(), size: 0 }
    own.set(key, group)
    group.members.add(pending)
    group.size = pending.head.size ?? 0
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
    if (group.members.size === 0) own.delete(key)
    if (own.size === 0) this.#groups.delete(store)
  }
}
