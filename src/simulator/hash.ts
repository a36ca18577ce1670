import { cyrb53 } from '../core/hash.ts'

/** Hash of several values in order. ('ab', 'c') and ('a', 'bc') differ. */
export function hashOf(...values: readonly (string | number)[]): number {
  return cyrb53(values.join('\u0000'))
}

/** A number in [0, 1) determined by the values. */
export function uniform(...values: readonly (string | number)[]): number {
  return hashOf(...values) / 2 ** 53
}

/** A standard normal number determined by the values (Box-Muller). */
export function normal(...values: readonly (string | number)[]): number {
  const radius = Math.sqrt(-2 * Math.log(1 - uniform(...values, 'radius')))
  return radius * Math.cos(2 * Math.PI * uniform(...values, 'angle'))
}
