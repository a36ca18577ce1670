/** One kind of instruction: its arguments and its check. */
import { z } from 'zod'

/** How a check reads what the published checkers leave open to tricks. */
export interface Reading {
  /** Keywords are regular expressions, and a mark alone is enough, as in the published checkers. */
  readonly published: boolean
}

/** A kind of instruction with its arguments. */
export interface Instruction {
  /** Of the arguments as the row has them, without those that are null. */
  readonly args: z.ZodType
  /**
   * Whether a text follows the instruction. Throws Unanswerable where the published check raises, and WrongArgument for an
   * argument that the schema cannot refuse.
   */
  holds(text: string, args: never, reading: Reading): boolean
}

/** A kind with its arguments by name; others are refused. */
export const instruction = <const Shape extends z.ZodRawShape>(
  shape: Shape,
  holds: (text: string, args: z.output<z.ZodObject<Shape>>, reading: Reading) => boolean,
): Instruction => ({ args: z.strictObject(shape), holds: holds as Instruction['holds'] })

const relations = ['less than', 'at least'] as const
export const relation = z.enum(relations)

/** Whether a number stands in a relation to another. */
export const related = (found: number, relation: (typeof relations)[number], wanted: number): boolean =>
  relation === 'less than' ? found < wanted : found >= wanted

export const count = z.number().min(0).max(1e6)
export const words = z.string().min(1).max(10_000)
export const keyword = z.string().min(1).max(500)
