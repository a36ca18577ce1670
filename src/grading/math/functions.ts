import { type Approximate, real, undefinedValue } from './approximate.ts'

interface RealFunction {
  readonly value: (x: number) => number
  /** At least the size of the derivative near x. */
  readonly slope: (x: number) => number
}

const one = (): number => 1
const reciprocal = (f: (x: number) => number) => (x: number) => 1 / f(x)
const steep = (f: (x: number) => number) => (x: number) => 2 + 2 / f(x) ** 2
const arc = (x: number): number => 1 / Math.sqrt(Math.max(1 - x * x, 1e-16))

/** Functions of the real line that need nothing but their argument. */
export const realFunctions: ReadonlyMap<string, RealFunction> = new Map(
  Object.entries({
    sin: { value: Math.sin, slope: one },
    cos: { value: Math.cos, slope: one },
    tan: { value: Math.tan, slope: steep(Math.cos) },
    cot: { value: reciprocal(Math.tan), slope: steep(Math.sin) },
    sec: { value: reciprocal(Math.cos), slope: steep(Math.cos) },
    csc: { value: reciprocal(Math.sin), slope: steep(Math.sin) },
    arcsin: { value: Math.asin, slope: arc },
    arccos: { value: Math.acos, slope: arc },
    arctan: { value: Math.atan, slope: one },
    arccot: { value: (x: number) => Math.PI / 2 - Math.atan(x), slope: one },
    sinh: { value: Math.sinh, slope: Math.cosh },
    cosh: { value: Math.cosh, slope: Math.cosh },
    tanh: { value: Math.tanh, slope: one },
    coth: { value: reciprocal(Math.tanh), slope: steep(Math.sinh) },
  }),
)

/** `f(x)` of an f that nobody has defined: some smooth function, one for each name. */
export function unnamedFunction(name: string, args: readonly Approximate[]): Approximate {
  const seed = hash(name)
  let [value, error] = [seed, 1e-16]
  for (const [k, { re, im, error: off }] of args.entries()) {
    if (im !== 0) return undefinedValue
    value += Math.sin(re * (1 + seed) + k) + 0.3 * re * (k + 1)
    error += (2 + seed + k) * (off + 1e-16 * Math.abs(re))
  }
  return real(value, error)
}

/** A number from 0.1 to 2, the same for the same text. */
export function hash(text: string): number {
  let h = 0x811c9dc5
  for (let k = 0; k < text.length; k++) h = Math.imul(h ^ text.charCodeAt(k), 0x01000193)
  h ^= h >>> 15
  h = Math.imul(h, 0x2c1b3c6d)
  h ^= h >>> 12
  return 0.1 + ((h >>> 0) / 2 ** 32) * 1.9
}
