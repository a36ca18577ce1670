import type { PoolMember } from './pool-member.ts'

const load = ({ endpoint, weight }: PoolMember): number => (endpoint.inFlight + 1) / weight

/** The less loaded of two drawn, by weight, from the members that can take a question; null: none can. */
export function leastOutstanding(
  members: readonly PoolMember[],
  usable: (member: PoolMember) => boolean,
  random: () => number,
): PoolMember | null {
  const one = drawn(members, usable, random)
  if (!one) return null
  const other = drawn(members, usable, random)
  return other && load(other) < load(one) ? other : one
}

/** The first usable member from a random place on. */
function drawn(
  members: readonly PoolMember[],
  usable: (member: PoolMember) => boolean,
  random: () => number,
): PoolMember | null {
  const { length } = members
  let left = 0
  for (const { weight } of members) left += weight
  left *= random()
  let start = 0
  while (start < length - 1) {
    left -= (members[start] as PoolMember).weight
    if (left < 0) break
    start += 1
  }
  for (let i = 0; i < length; i += 1) {
    const member = members[(start + i) % length] as PoolMember
    if (usable(member)) return member
  }
  return null
}
