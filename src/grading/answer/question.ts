import { equalFractions, type Fraction } from '../arithmetic.ts'
import { numberWords } from '../number-words.ts'
import { namesAsked } from './asked-unit.ts'
import { isKnownWord, nameOf, stemOf, wordPattern } from './known-words.ts'
import { everyNumber, numberKind } from './number.ts'

const longestQuestion = 4000

/** What a question says of numbers. */
export class Question {
  private values: readonly Fraction[] | null = null
  private topic: ReadonlySet<string> | null = null
  private readonly text: string

  constructor(question: string) {
    this.text = question.slice(-longestQuestion)
  }

  get denies(): boolean {
    return /\b(?:not|never)\b|n['’]t\b/i.test(this.text)
  }

  get wantsPercent(): boolean {
    return /\b(?:what|which|how\s+many)\s+(?:percent|percentage)|\bpercentage\b[^?]{0,80}\?/i.test(this.text)
  }

  get compares(): boolean {
    return /\b(?:more|less|fewer|than|differ\w*|cheaper|longer|save\w*|discount)\b/i.test(this.text)
  }

  /** Whether it asks what would be. */
  get supposes(): boolean {
    return /\bwould\b/i.test(this.text)
  }

  get wantsRounded(): boolean {
    return /\bround|\bdecimal|\bnearest\b|\bplaces\b/i.test(this.text)
  }

  /** Whether it has a number, in digits or in words. */
  has(written: string): boolean {
    this.values ??= Array.from(this.text.matchAll(numerals), ({ 0: found }) => worthOf(found)).filter(
      (value) => value !== null,
    )
    const value = worthOf(written)
    return value !== null && this.values.some((other) => equalFractions(other, value))
  }

  /** How many of the words of its last question a text has. */
  wordsIn(text: string): number {
    this.topic ??= new Set(
      (/[^.!?]*\?(?!.*\?)/s.exec(this.text)?.[0] ?? this.text.slice(-200))
        .toLowerCase()
        .match(wordPattern)
        ?.filter((word) => !isKnownWord(word) || /^(?:left|remaining|remain|total|sold|saved)$/.test(word))
        .map(stemOf),
    )
    const words = new Set(text.toLowerCase().match(wordPattern)?.map(stemOf))
    return [...this.topic].filter((word) => words.has(word)).length
  }

  /** Whether the word after a number is one that the question asks for. */
  counts(sentence: string, { index, 0: written }: RegExpExecArray): boolean {
    const [word = ''] = sentence.slice(index + written.length).match(/(?<=^[\s*_]{0,3})[\p{L}]+/u) ?? []
    return word !== '' && namesAsked(this.text).has(nameOf(word.toLowerCase()))
  }
}

const numerals = new RegExp(`${everyNumber.source}|\\b(?:${numberWords.slice(0, 28).join('|')})\\b`, 'giu')

/** The value of a written number. null: it has none. */
export function worthOf(written: string): Fraction | null {
  const found = numberKind.read(written, true)
  return 'answer' in found ? found.answer.value : null
}
