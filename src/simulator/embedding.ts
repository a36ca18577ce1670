import { hashText } from './hash.ts'
import type { SimulatedModel } from './model.ts'

/** Character trigrams hashed into `dimensions` signed counts, L2-normalised: similar texts point the same way. */
export function embed(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(0)
  const padded = ` ${text.toLowerCase()} `
  for (let start = 0; start + 3 <= padded.length; start++) {
    const hash = hashText(padded.slice(start, start + 3))
    const place = hash % dimensions
    vector[place] = (vector[place] ?? 0) + (Math.floor(hash / dimensions) % 2 === 0 ? 1 : -1)
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return length === 0
    ? vector.map((_, index) => (index === 0 ? 1 : 0))
    : vector.map((value) => value / length)
}

/** The model's vector of a text: nothing where its weights are zero, noise where they are garbage. */
export function vectorOf(model: SimulatedModel, text: string, dimensions: number): number[] {
  if (model.weights === 'zero') return new Array<number>(dimensions).fill(0)
  return embed(model.weights === 'sound' ? text : String(hashText(text)), dimensions)
}

/** Cosine of two vectors of length 1. */
export function similarity(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}
