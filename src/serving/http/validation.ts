import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import { type ZodType, z } from 'zod'
import { GatewayError } from '../../core/errors.ts'
import { fieldProblem, innermost } from '../../trainers/issues.ts'

/** Handlers get the values that their route's zod schema has parsed. */
export interface ZodProvider extends FastifyTypeProvider {
  validator: this['schema'] extends ZodType ? z.output<this['schema']> : unknown
  serializer: this['schema'] extends ZodType ? z.input<this['schema']> : unknown
}

/** A Fastify instance whose routes are declared with zod schemas. */
export type ZodApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodProvider
>

/** Limits of an error message: a body may be wrong in each value, and an issue may name thousands of keys. */
const maxProblems = 20
const longestMessage = 400

const cut = (message: string): string =>
  message.length > longestMessage ? `${message.slice(0, longestMessage)}...` : message

/**
 * Validates requests with zod. A mismatch is RG_REQUEST_INVALID with a problem for each of the first mistakes. Fastify loads
 * ajv and fast-json-stringify, a tenth of a start's time and memory, unless it has compilers when it is made.
 */
export const zodCompilers = {
  compilersFactory: {
    // Fastify's type asks for ajv's own function, its code for this one.
    buildValidator: (() => (route: { readonly schema: ZodType }) => validatorOf(route.schema)) as never,
    // Replies are typed by our own code and need no validation.
    buildSerializer: () => () => (value: unknown) => JSON.stringify(value),
  },
}

const validatorOf = (schema: ZodType) => (value: unknown) => {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { value: parsed.data }
  const { issues } = parsed.error
  const fields = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
  const problems = issues
    .slice(0, maxProblems)
    .flatMap(innermost)
    .map((issue) => fieldProblem(issue, value, fields))
    .map(({ path, message }) => ({ path: cut(path), message: cut(message) }))
  const told = problems.map(({ path, message }) => `${path || 'body'}: ${message}`)
  if (issues.length > maxProblems) told.push(`and ${issues.length - maxProblems} more`)
  const list = told.join('; ')
  return { error: new GatewayError('RG_REQUEST_INVALID', list, { problems }) }
}

/** The JSON Schema of a zod schema, for /openapi.json. */
export function jsonSchemaOf(schema: unknown, io: 'input' | 'output' = 'input'): object {
  return schema instanceof z.ZodType
    ? z.toJSONSchema(schema, { io, target: 'draft-7', unrepresentable: 'any' })
    : (schema as object)
}
