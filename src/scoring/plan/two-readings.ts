import type { ConfigPath } from './config-path.ts'

/** A value with a variable that can be read in two ways, the more likely one first. */
export class TwoReadings {
  readonly value: unknown
  readonly other: unknown

  constructor(value: unknown, other: unknown) {
    this.value = value
    this.other = other
  }
}

/** A config with the likelier one of each two readings; the others are kept by their paths. */
export function decided(value: unknown, path: ConfigPath, others: Map<string, unknown>): unknown {
  if (value instanceof TwoReadings) {
    others.set(JSON.stringify(path), value.other)
    return value.value
  }
  if (Array.isArray(value)) return value.map((one, at) => decided(one, [...path, at], others))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, decided(one, [...path, key], others)]),
  )
}

/** A copy with another value at a path that exists. */
export function replacedAt(value: unknown, [part, ...rest]: ConfigPath, by: unknown): unknown {
  if (part === undefined) return by
  if (Array.isArray(value)) return value.map((one, at) => (at === part ? replacedAt(one, rest, by) : one))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, key === part ? replacedAt(one, rest, by) : one]),
  )
}
