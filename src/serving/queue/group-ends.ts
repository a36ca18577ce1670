import type { AcceptHead } from './records.ts'

interface Group {
  /** Answers without a final. */
  pending: number
  /** Uids of answers that have ended without the others, until they come again. */
  ended: Set<string> | null
}

/** Names a group in its run: answers to one reward, of one training step. null: the sample names no group, or no size. */
export const groupKeyOf = ({ reward, step, group, size }: AcceptHead): string | null =>
  group === undefined || size === undefined ? null : `${reward}\n${step ?? ''}\n${group}`

/**
 * Answers that have ended without being compared with the others of their group: cancelled, damaged, or too late. The others cannot
 * be complete without them, unless they come again. Forgotten with the last pending answer: a later one begins another group of that name.
 */
export class GroupEnds {
  readonly #groups = new Map<string, Group>()

  /** An answer was accepted. `without`: those that had ended when it was copied. */
  joined(key: string, uid: string, without: readonly string[] = []): void {
    const group = this.#groups.get(key) ?? { pending: 0, ended: null }
    this.#groups.set(key, group)
    group.pending += 1
    for (const one of without) this.ended(key, one)
    group.ended?.delete(uid)
  }

  /** A pending answer has a final, or another one took its place. */
  left(key: string): void {
    const group = this.#groups.get(key)
    if (!group) return
    group.pending -= 1
    if (group.pending === 0) this.#groups.delete(key)
  }

  ended(key: string, uid: string): void {
    const group = this.#groups.get(key)
    if (!group) return
    group.ended ??= new Set()
    group.ended.add(uid)
  }

  /** All answers of the group were compared: those that come later belong to another group of that name. */
  whole(key: string): void {
    this.#groups.get(key)?.ended?.clear()
  }

  /** The uids of answers that have ended while others are pending. */
  endedOf(key: string): readonly string[] {
    return [...(this.#groups.get(key)?.ended ?? [])]
  }
}
