import type { Json } from '../../../core/sample/sample.ts'
import { ContractViolation, nameOf } from './contract-violation.ts'
import { isPlain } from './freeze.ts'

const stringLength = 4096
const budget = 65_536
const depthLimit = 16

/** A bounded copy: `cut` is true where something long or deep was left out, because a response can be both. */
export function boundedDetails(details: unknown): { details: Record<string, Json>; cut: boolean } {
  if (typeof details !== 'object' || details === null || !isPlain(details)) {
    throw new ContractViolation(`details are ${nameOf(details)}, not an object`)
  }
  const left = { size: budget, cut: false }
  return { details: copy(details, 'details', null, 0, left) as Record<string, Json>, cut: left.cut }
}

interface Left {
  size: number
  cut: boolean
}

/** The value at `key` of what is at `path`; null: what is at `path` itself. */
function copy(value: unknown, path: string, key: string | null, depth: number, left: Left): Json {
  left.size -= 1
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'bigint') return cutTo(String(value), left)
  if (typeof value === 'string') return cutTo(value, left)
  const place = key === null ? path : `${path}.${key.slice(0, 60)}`
  if (typeof value !== 'object' || !(Array.isArray(value) || isPlain(value))) {
    throw new ContractViolation(`${place} is ${nameOf(value)}, not JSON`)
  }
  if (depth === depthLimit) {
    left.cut = true
    return null
  }
  if (Array.isArray(value)) {
    const items: Json[] = []
    for (const item of value) {
      if (isFull(left)) break
      items.push(item === undefined ? null : copy(item, `${place}[]`, null, depth + 1, left))
    }
    return items
  }
  const copied: Record<string, Json> = {}
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue
    const item = (value as Record<string, unknown>)[name]
    if (item === undefined) continue
    left.size -= name.length
    if (isFull(left)) break
    put(copied, name, copy(item, place, depth === 0 ? name : null, depth + 1, left))
  }
  return copied
}

/** Assigning to `__proto__` would set the prototype. */
function put(target: Record<string, Json>, key: string, value: Json): void {
  if (key !== '__proto__') target[key] = value
  else Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true })
}

function isFull(left: Left): boolean {
  if (left.size > 0) return false
  left.cut = true
  return true
}

function cutTo(text: string, left: Left): string {
  const length = Math.min(stringLength, Math.max(left.size, 0))
  left.size -= Math.min(text.length, length)
  if (text.length <= length) return text
  left.cut = true
  const short = text.slice(0, length)
  const last = short.charCodeAt(length - 1)
  return last >= 0xd800 && last < 0xdc00 ? short.slice(0, -1) : short
}
