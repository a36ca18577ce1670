import { z } from 'zod'
import { listOf } from './first-mistake.ts'

/** A list of texts with a row's share in each. */
export const textList: z.ZodType<readonly string[]> = listOf(z.string())

/** True where a list holds something. */
export const isFilled = (list: readonly unknown[]): boolean => list.length > 0
