import { isList, isObject, same, typed } from './identity.ts'
import type { JsonValue } from './json.ts'

/** Where `a` first differs from `b` under typed equality: `arguments.x[2]`, '' at the top; null: nowhere. */
export function firstDifference(a: JsonValue, b: JsonValue): string | null {
  if (isList(a) && isList(b)) {
    for (let i = 0; i < Math.max(a.length, b.length); i++) {
      const path = childDifference(a[i], b[i])
      if (path !== null) return `[${i}]${join(path)}`
    }
    return null
  }
  if (isObject(a) && isObject(b)) {
    for (const key of new Set([...b.keys(), ...a.keys()])) {
      const path = childDifference(a.get(key), b.get(key))
      if (path !== null) return `${key}${join(path)}`
    }
    return null
  }
  return same(a, b, typed) ? null : ''
}

function childDifference(a: JsonValue | undefined, b: JsonValue | undefined): string | null {
  if (a === undefined || b === undefined) return a === b ? null : ''
  return firstDifference(a, b)
}

const join = (path: string): string => (path === '' || path.startsWith('[') ? path : `.${path}`)
