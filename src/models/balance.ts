import type { Instance } from './instance.ts'

/** One instance's place in one model's pool. */
export class Member {
  readonly instance: Instance
  readonly weight: number
  /** This model's calls alone; the instance counts those of all. */
  inFlight = 0
  /** Takes no further questions; goes when its last call has come back. */
  draining = false
  /** Serves another model than the pool's. */
  stranger = false
  /** Answers known questions wrongly. */
  suspect = false
  /** Its GPU memory is given back, or may be. */
  asleep = false

  constructor(instance: Instance, weight: number) {
    this.instance = instance
    this.weight = weight
  }

  /** Takes a place; `end` or `giveBack` must follow. */
  begin(): void {
    this.inFlight += 1
    this.instance.begin()
  }

  end(): void {
    this.inFlight -= 1
    this.instance.end()
  }

  /** A place that was taken and not used. */
  giveBack(): void {
    this.inFlight -= 1
    this.instance.giveBack()
  }
}

/** May take questions, if its instance can. */
export const isOpen = ({ draining, stranger, suspect, asleep }: Member): boolean =>
  !draining && !stranger && !suspect && !asleep

/** May take questions, and its instance is believed to work. */
export const isAlive = (member: Member): boolean => isOpen(member) && member.instance.alive

const load = ({ instance, weight }: Member): number => (instance.inFlight + 1) / weight

/** The less loaded of two drawn, by weight, from the members that can take a question; null: none can. */
export function leastOutstanding(
  members: readonly Member[],
  usable: (member: Member) => boolean,
  random: () => number,
): Member | null {
  const one = drawn(members, usable, random)
  if (!one) return null
  const other = drawn(members, usable, random)
  return other && load(other) < load(one) ? other : one
}

/** The first usable member from a random place on. */
function drawn(
  members: readonly Member[],
  usable: (member: Member) => boolean,
  random: () => number,
): Member | null {
  const { length } = members
  let left = 0
  for (const { weight } of members) left += weight
  left *= random()
  let start = 0
  while (start < length - 1) {
    left -= (members[start] as Member).weight
    if (left < 0) break
    start += 1
  }
  for (let i = 0; i < length; i += 1) {
    const member = members[(start + i) % length] as Member
    if (usable(member)) return member
  }
  return null
}
