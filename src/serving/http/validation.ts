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

/** Handlers get what the zod schema of their route parsed. */
export interface ZodProvider extends FastifyTypeProvider {
  validator: this['schema'] extends ZodType ? z.output<this['schema']> : unknown
  serializer: this['schema'] extends ZodType ? z.input<this['schema']> : unknown
}

/** An app whose routes are declared with zod. */
export type ZodApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodProvider
>

/** A body may hold a mistake in each of its values, and a mistake may name as many keys. */
const maxProblems = 20
const longestMessage = 400

const cut = (message: string): string =>
  message.length > longestMessage ? `${message.slice(0, longestMessage)}...` : message

/** Routes are declared with zod; a body that a schema refuses is RG_REQUEST_INVALID with a problem for each of the first mistakes. */
export function useZod(app: FastifyInstance): void {
  app.setValidatorCompiler<ZodType>(({ schema }) => (value: unknown) => {
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
  })
  // Answers are made by our own code: typed there, and stringified once.
  app.setSerializerCompiler(() => (value) => JSON.stringify(value))
}

/** A zod schema as the JSON Schema that /openapi.json shows. */
export function jsonSchemaOf(schema: unknown, io: 'input' | 'output' = 'input'): object {
  return schema instanceof z.ZodType
    ? z.toJSONSchema(schema, { io, target: 'draft-7', unrepresentable: 'any' })
    : (schema as object)
}
