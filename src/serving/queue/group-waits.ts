import type { Pending } from './run-state.ts'
import type { RunStore } from './run-store.ts'

/** Members of groups that are not complete. Only their places on disk are in memory. */
export class GroupWaits {
  readonly #groups = new Map<string, Set<Pending>>()
  readonly #keys = new Map<Pending, string>()

  /** Adds a member of a group of `size`. Returns all members once the group is complete, which then wait no more. */
  add(store: RunStore, pending: Pending, size: number): readonly Pending[] | null {
    const key = groupKey(store, pending)
    const members = this.#groups.get(key) ?? new Set<Pending>()
    this.#groups.set(key, members)
    members.add(pending)
    this.#keys.set(pending, key)
    return members.size >= size ? this.take(pending) : null
  }

  has(pending: Pending): boolean {
    return this.#keys.has(pending)
  }

  /** How many members of this one's group wait, itself included. */
  count(pending: Pending): number {
    return this.#groups.get(this.#keys.get(pending) ?? '')?.size ?? 0
  }

  /** Ends the waiting of this one's group. Returns its members, in order of arrival. */
  take(pending: Pending): readonly Pending[] {
    const key = this.#keys.get(pending) ?? ''
    const members = [...(this.#groups.get(key) ?? [])]
    this.#groups.delete(key)
    for (const member of members) this.#keys.delete(member)
    return members
  }

  delete(pending: Pending): void {
    const key = this.#keys.get(pending)
    if (key === undefined) return
    this.#keys.delete(pending)
    const members = this.#groups.get(key)
    members?.delete(pending)
    if (members?.size === 0) this.#groups.delete(key)
  }
}

const groupKey = ({ run }: RunStore, { head: { reward, step, group } }: Pending): string =>
  JSON.stringify([run, reward, step, group])
