import type { Json, Rule } from '../../src/contract/index.ts'
import { scored } from '../../src/contract/testing.ts'

/** What a rule gives a response by these options; undefined where it does not apply. */
export const valueBy =
  <T, O>(rule: Rule<T, O>, always: Readonly<Record<string, Json>> = {}) =>
  (response: string, groundTruth: Json = null, options: Readonly<Record<string, Json>> = {}) =>
    scored(rule, { response, groundTruth, options: { ...always, ...options } })?.value

/** The two modes of a function that came from published code. */
export const modes = ['strict', 'published'] as const
