/** The criteria of a rubric as judges are asked about them: by rubric-judge, as published code asks, and as decisions. */

import type { Turn } from './conversation.ts'
import { lettersForm, type Scale } from './reply-form.ts'

/** A criterion of a rubric. */
export interface Criterion {
  /** Its key in the reply, or its name there; '' if it is the only one. */
  readonly label: string
  readonly text: string
  /** Its verdicts from worst to best, where the prompt lists them. */
  readonly choices?: readonly string[]
  /** Its worst and best number, where only the prompt names them. */
  readonly scale?: Scale
}

interface Named extends Criterion {
  text: string
  readonly choices: string[]
  scale?: Scale
}

/** A part of a prompt. `label`: the author's words before it. */
interface Section {
  readonly label: string
  readonly text: string
  readonly isFenced: boolean
}

/** 'Criterion', 'Criterion c2 (yes or no)'. 'Criterion 2 (weight 5)' is one of those that get one grade together. */
const keyed = /^criterion(?: (c\d{1,3}))?(?! \d)(?:\W|$)/iu
const named = /^criterion with the name$/iu
const listed = /^its verdicts, from worst to best$/iu
const asNumber = /\bIts score: [^\n]{0,60}?(-?\d[\d.e+-]*) to (-?\d(?:[\d.e+-]*\d)?)/u

/** Collects the criteria of a prompt from its parts in order. */
export class CriteriaReader {
  readonly #criteria: Criterion[] = []
  /** The last one, if the prompt names it: its text and its verdicts are values of their own. */
  #open: Named | null = null

  get criteria(): readonly Criterion[] {
    return this.#criteria
  }

  /** Whether this part belongs to a criterion. */
  take({ label, text, isFenced }: Section): boolean {
    const open = this.#open
    if (!isFenced) {
      const [, low, high] = (open && asNumber.exec(text)) || []
      if (open && low !== undefined) open.scale = [Number(low), Number(high)]
      return false
    }
    if (named.test(label)) {
      this.#open = { label: text, text: '', choices: [] }
      this.#criteria.push(this.#open)
      return true
    }
    const isNext = label === '' && open !== null
    if (isNext && open.text === '') {
      open.text = text
      return true
    }
    if (open && (listed.test(label) || (isNext && open.choices.length > 0))) {
      open.choices.push(text)
      return true
    }
    const key = keyed.exec(label)
    if (!key) return false
    this.#open = null
    this.#criteria.push({ label: key[1] ?? '', text })
    return true
  }
}

/** The criterion that a question for a decision model ends with; '': it is about something else. */
export const criterionIn = (question: string): string => /\bcriterion: ([\s\S]+)$/iu.exec(question)?.[1] ?? ''

/** The same in a chat whose answers have letters. */
export function decidedCriterion(turns: readonly Turn[]): readonly Criterion[] {
  const form = lettersForm(turns.at(-1)?.content ?? '')
  const text = form?.kind === 'letters' ? criterionIn(form.question) : ''
  return text === '' ? [] : [{ label: '', text }]
}
