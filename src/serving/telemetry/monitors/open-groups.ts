import { hash } from 'node:crypto'
import type { GroupMembership } from '../../../core/sample/sample.ts'
import type { Member } from './count.ts'

/** Groups whose members come in several requests are kept until they are whole, or until so many newer ones are open. */
const mostOpen = 256
const mostMembers = 256

/** Gathers the members of groups that requests send apart. */
export class OpenGroups {
  readonly #groups = new Map<string, Member[]>()

  /** Adds members; a group that is whole, or had to make room, comes back. */
  add({ id, size }: GroupMembership, members: readonly Member[]): readonly (readonly Member[])[] {
    const known = this.#groups.get(id) ?? []
    this.#groups.delete(id)
    // As many as are ever kept are a group of their own.
    if (members.length >= mostMembers) return known.length > 0 ? [known, members] : [members]
    // Answers may be long and groups may stay open: a hash stands for each.
    for (const member of members) known.push(short(member))
    if (known.length >= (size ?? Number.POSITIVE_INFINITY) || known.length >= mostMembers) return [known]
    this.#groups.set(id, known)
    if (this.#groups.size <= mostOpen) return []
    const [oldest = ''] = this.#groups.keys()
    return this.#take(oldest)
  }

  #take(id: string): readonly (readonly Member[])[] {
    const members = this.#groups.get(id)
    this.#groups.delete(id)
    return members ? [members] : []
  }
}

const short = (member: Member): Member => ({ ...member, print: hash('sha256', member.print) })
