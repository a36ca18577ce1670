import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import { type ZodType, z } from 'zod'
import { GatewayError } from '../errors.ts'

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

/** Routes are declared with zod; a body that a schema refuses is RG_REQUEST_INVALID with a problem for each mistake. */
export function useZod(app: FastifyInstance): void {
  app.setValidatorCompiler<ZodType>(({ schema }) => (value: unknown) => {
    const parsed = schema.safeParse(value)
    if (parsed.success) return { value: parsed.data }
    const problems = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
    const list = problems.map(({ path, message }) => `${path || 'body'}: ${message}`).join('; ')
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
