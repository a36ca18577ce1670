/** A message that an executor of authors' code did not write as it should. The text never quotes it. */
export class BrokenMessage extends Error {}

/** The value as an object with unknown entries; throws BrokenMessage. */
export function objectOf(value: unknown, otherwise: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BrokenMessage(otherwise)
  return value as Readonly<Record<string, unknown>>
}

/** The value as a list of unknown items; throws BrokenMessage. */
export function listOf(value: unknown, otherwise: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new BrokenMessage(otherwise)
  return value
}

/** The value as a text of at most `longest` characters, cut there; throws BrokenMessage. */
export function textOf(value: unknown, longest: number, otherwise: string): string {
  if (typeof value !== 'string') throw new BrokenMessage(otherwise)
  return value.length > longest ? value.slice(0, longest) : value
}

/** True for a duration that can be counted. */
export const isMilliseconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0
