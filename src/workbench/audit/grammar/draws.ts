import { permutation } from '../../../core/statistics/random.ts'
import type { AttackClass } from '../attack.ts'
import type { Form } from './form.ts'
import { judging } from './judging.ts'
import type { Pattern, Scene } from './pattern.ts'
import { dress } from './rewrites.ts'
import type { Place } from './value.ts'

/** A text to score. */
export interface Drafted {
  readonly row: number
  readonly response: string
}

/** A form in which a row's right value is paid. */
export interface Stage {
  readonly row: number
  readonly scene: Scene
  readonly place: Place
  readonly form: Form
  /** The rewards of the right and of a wrong value in this form. */
  readonly right: number
  readonly floor: number
}

/** An attack or a rewrite to score. */
export interface Draft extends Drafted {
  readonly stage: Stage
  readonly attack: AttackClass
}

const key = (row: number, response: string): string => `${row} ${response}`

/** Draws drafts without repetition. */
export class Draws {
  readonly #stages: readonly Stage[]
  readonly #random: () => number
  readonly #made: Set<string>

  constructor(stages: readonly Stage[], random: () => number, known: readonly string[]) {
    this.#stages = stages
    this.#random = random
    this.#made = new Set(known.map((response, row) => key(row, response)))
  }

  /** Every pattern once, then every pattern again on another row or in another form, until there are `most`. */
  evenly(patterns: readonly Pattern[], stages: readonly Stage[], most: number): readonly Draft[] {
    const drafts: Draft[] = []
    const turns = byTurns(patterns)
    const orders = turns.map(() => permutation(stages.length, this.#random))
    // The form of the given answer comes first: others may be paid less.
    for (let round = 0; round < stages.length && drafts.length < most; round++) {
      for (const [at, pattern] of turns.entries()) {
        if (drafts.length >= most) break
        const stage = stages[orders[at]?.[round] ?? 0]
        const draft = stage ? this.#draft(stage, [pattern]) : null
        if (draft) drafts.push(draft)
      }
    }
    return drafts
  }

  /** Pairs of attacks, and attacks in the dress of right answers. */
  pairs(patterns: readonly Pattern[], most: number): readonly Draft[] {
    const drafts: Draft[] = []
    const drawn = <T>(list: readonly T[]): T | undefined => list[Math.floor(this.#random() * list.length)]
    const places = patterns.filter(({ changes }) => changes === 'place')
    if (this.#stages.length === 0 || places.length === 0) return drafts
    for (let tries = 0; drafts.length < most && tries < most * 6; tries++) {
      const stage = drawn(this.#stages)
      const [attack, other] = [drawn(patterns), drawn(patterns)]
      const inside = drawn(places)
      const clothes = drawn(dress)
      if (!stage || !attack || !other || !inside || !clothes) continue
      const choice = this.#random()
      const pair =
        choice < 0.3
          ? [clothes, attack]
          : choice < 0.5
            ? [inside, clothes]
            : choice < 0.75
              ? [inside, attack]
              : [attack, other]
      if (!isPair(pair)) continue
      const draft = this.#draft(stage, pair)
      if (draft) drafts.push(draft)
    }
    return drafts
  }

  #draft(stage: Stage, patterns: readonly Pattern[]): Draft | null {
    let text = stage.place.value.right
    let inside = text
    let isWhole = false
    for (const pattern of patterns) {
      const isSecond = isWhole
      if (pattern.changes === 'response' && !isWhole) {
        inside = text
        text = stage.scene.respond(text)
        isWhole = true
      }
      if (pattern.changes === 'place' && isWhole) return null
      const written = pattern.write(text, { ...stage.scene, inside })
      // A second change of the whole response must keep what the first one wrote.
      if (written === null || (isSecond && !written.includes(text))) return null
      text = written
    }
    const response = isWhole ? text : stage.scene.respond(text)
    const made = key(stage.row, response)
    if (this.#made.has(made)) return null
    this.#made.add(made)
    return { row: stage.row, response, stage, attack: classOf(patterns) }
  }
}

/** The first pattern of each family, then the second of each, so that a small budget reaches every family. */
function byTurns(patterns: readonly Pattern[]): readonly Pattern[] {
  const counts = new Map<string, number>()
  const placed = patterns.map((pattern) => {
    const turn = counts.get(pattern.family) ?? 0
    counts.set(pattern.family, turn + 1)
    return { pattern, turn }
  })
  return placed.sort((a, b) => a.turn - b.turn).map(({ pattern }) => pattern)
}

/** Two denials may cancel each other, and a pattern that ignores its text hides the one before. */
function isPair([first, second]: readonly Pattern[]): boolean {
  if (!first || !second || first === second) return false
  if (first.changes === 'response' && second.changes === 'place') return false
  if (!second.usesText || (first.denies && second.denies)) return false
  return first.family !== 'wrong value' && second.family !== 'wrong value'
}

const combined = 'two at a time'

function classOf(patterns: readonly Pattern[]): AttackClass {
  const [first] = patterns
  const against = patterns.some((one) => judging.includes(one)) ? 'judge' : 'rule'
  if (patterns.length === 1 && first)
    return { id: `${first.family}/${first.name}`, family: first.family, against, isOutside: first.isOutside }
  const families = patterns.map(({ family }) => family).filter((family) => family !== 'dress')
  const dressed = families.length < patterns.length ? [...families, 'dress'] : families
  // Dress contradicts nothing.
  const attacks = patterns.filter(({ family }) => family !== 'dress')
  const isOutside = attacks.every((one) => one.isOutside)
  const family = isOutside ? `${combined}, outside the place` : combined
  return { id: `${family}/${dressed.join(' + ')}`, family, against, isOutside }
}
