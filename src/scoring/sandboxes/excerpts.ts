/** Short pieces of what a program wrote, for people who look at its cases. A sandbox makes them only when it is asked to. */

import type { CaseResult } from '../../contract/execution.ts'
import { type Answer, outputsOf } from './case-result.ts'

/** A piece of a text. */
export interface Excerpt {
  readonly text: string
  /** Of the whole text, in UTF-16 units. */
  readonly chars: number
}

/** What a case wrote. Untrusted. */
export interface CaseExcerpts {
  /** Seconds by the clock; null if unknown. */
  readonly wallSeconds: number | null
  /** Its beginning. */
  readonly stdout: Excerpt
  /** Its end. */
  readonly stderr: Excerpt
  /** The beginning of the JSON text of the value of a call or an expression. */
  readonly value: Excerpt | null
}

/** Characters of one excerpt. */
export const longestExcerpt = 400
/** Characters of all that one program wrote, and the share of it that cases which pass may take. */
const longestOutputs = 32_768
const shareOfPassing = 0.5

/** Takes excerpts of the cases of one program, in order, until their bound is reached; later ones are empty. */
export class Excerpts {
  readonly cases: CaseExcerpts[] = []
  #left = longestOutputs

  add(answer: Answer, result: CaseResult): void {
    const least = result.passed ? longestOutputs * (1 - shareOfPassing) : 0
    const room = (): number => Math.max(0, this.#left - least)
    const take = (excerpt: Excerpt): Excerpt => {
      this.#left -= excerpt.text.length
      return excerpt
    }
    const stderr = take(endOf(answer.stderr, room()))
    const stdout = take(beginningOf(answer.stdout, room()))
    const value = room() === 0 ? undefined : outputsOf(answer, result).value
    this.cases.push({
      wallSeconds: answer.wall_s ?? null,
      stdout,
      stderr,
      value: value === undefined ? null : take(beginningOf(JSON.stringify(value), room())),
    })
  }
}

/** At most `room` characters, and never more than `longestExcerpt`. */
export const beginningOf = (text: string, room: number): Excerpt => ({
  text: copied(text.slice(0, Math.min(room, longestExcerpt)).replace(/[\ud800-\udbff]$/, '')),
  chars: text.length,
})

const endOf = (text: string, room: number): Excerpt => {
  const size = Math.min(room, longestExcerpt)
  return {
    text: size === 0 ? '' : copied(text.slice(-size).replace(/^[\udc00-\udfff]/, '')),
    chars: text.length,
  }
}

/** V8 lets a piece keep the whole text that it was cut from. */
const copied = (piece: string): string => Buffer.from(piece, 'utf16le').toString('utf16le')
