import type { KnownAnswers } from '../dataset/known-answers.ts'

/** A row of the data at its place; its sample is called like the place. */
export interface Item extends KnownAnswers {
  /** `12`, or `test.parquet:12` where there are several files; from 1. */
  readonly place: string
}

/** The prompt's turns; a text is one of the user. */
export const turnsOf = ({ sample: { prompt } }: Item): readonly { role: string; content: string }[] =>
  typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt
