/** Freezes plain objects and arrays to their leaves; other objects stay as they are. */
export function freeze<V>(value: V): V {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  if (Array.isArray(value)) {
    Object.freeze(value)
    for (const item of value) freeze(item)
  } else if (isPlain(value)) {
    Object.freeze(value)
    for (const key of Object.keys(value)) freeze((value as Record<string, unknown>)[key])
  }
  return value
}

/** True for what an object literal or JSON makes. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}
