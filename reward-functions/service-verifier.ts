import { z } from 'zod'
import {
  BadSample,
  defineModelReward,
  finalAnswer,
  type Json,
  NoVerdict,
  questionText,
  type Sample,
  type Score,
  type ServiceBatch,
  serviceRequest,
  toolCallsOf,
  turnsOf,
} from '../src/contract/index.ts'
import { chatMessages, responsesItems } from '../src/contract/sent-messages.ts'
import { leanAccepts, promptText, readPointer, valueAt } from '../src/grading/index.ts'
import { CheckTooLong, schemaCheck } from '../src/grading/json/schema.ts'
import { type JsonTemplate, jsonTemplate, type Placeholder } from '../src/grading/json/template.ts'
import { lastFence } from '../src/grading/program.ts'

/** What placeholders stand for. undefined: the row has none. */
const values: Readonly<Record<string, (sample: Sample) => Json | undefined>> = {
  id: ({ id }) => id,
  group_id: ({ group }) => group?.id,
  data_source: ({ dataSource }) => dataSource,
  training_step: ({ trainingStep }) => trainingStep,
  prompt: ({ prompt }) => (typeof prompt === 'string' ? prompt : chatMessages(prompt)),
  'prompt.text': ({ prompt }) => promptText(prompt),
  question: (sample) => questionText(sample),
  response: ({ response }) => response,
  'response.final': (sample) => finalAnswer(sample).text,
  'response.code': ({ response }) => lastFence(response) ?? undefined,
  messages: ({ prompt, ...sample }) =>
    chatMessages([
      ...(typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt),
      ...turnsOf(sample),
    ]),
  turns: (sample) => chatMessages(turnsOf(sample)),
  tool_calls: (sample) =>
    toolCallsOf(sample).map(({ name, arguments: given, result, turn }) => ({
      name,
      arguments: given,
      result,
      turn,
    })),
  'responses.input': ({ prompt }) =>
    typeof prompt === 'string'
      ? [{ role: 'user', content: prompt, type: 'message' }]
      : responsesItems(prompt),
  'responses.output': (sample) => responsesItems(turnsOf(sample)),
  ground_truth: ({ groundTruth }) => groundTruth ?? undefined,
  extra: ({ extraInfo }) => extraInfo,
}

/** Of these, one must be in the body: otherwise all answers would earn the same. */
const ofAnswer: readonly string[] = [
  'response',
  'response.final',
  'response.code',
  'messages',
  'turns',
  'tool_calls',
  'responses.output',
]

/** The others are texts. */
const structured: readonly string[] = [
  'prompt',
  'messages',
  'turns',
  'tool_calls',
  'responses.input',
  'responses.output',
  'ground_truth',
  'extra',
]

const pointer = z.string().refine((text) => readPointer(text) !== null, {
  error: "expected a JSON Pointer such as /results/0/score, or ''",
})
const part = z.string().regex(/^[A-Za-z_][\w.-]{0,59}$/)

/**
 * Asks a service for the score: any HTTP server that takes JSON and answers JSON. `body` is the request with placeholders,
 * `score` says where the reply holds the score. The step's `model` names the service in gateway.yaml, which has its path.
 *
 * Invalid: a reply that is not what was promised (no JSON, a mark of an error, no score or part, not a number or a text of
 * `map`, out of `range`, another form than `schema`). A response without the code that `{response.code}` stands for earns
 * the low end of the range without a call.
 */
export default defineModelReward({
  ask: 'service',
  options: z
    .strictObject({
      /**
       * The body of the request. Placeholders: `{id}`, `{group_id}`, `{data_source}`, `{training_step}`, `{prompt}`, `{prompt.text}`, `{question}`,
       * `{response}`, `{response.final}`, `{response.code}`, `{messages}`, `{turns}`, `{tool_calls}`, `{responses.input}`,
       * `{responses.output}`, `{ground_truth}`, `{extra}`, each with a JSON Pointer: `{extra./tests/0}`.
       */
      body: z.record(z.string(), z.json()),
      /** Where the score stands. */
      score: pointer,
      /**
       * How it is read. `lean`: what Lean's REPL says of a proof, 1 without errors and gaps, else 0. `mean`: a list of numbers or
       * truth values, one for each test, whose mean is the score.
       */
      read: z.enum(['number', 'lean', 'mean']).default('number'),
      /** Texts, and `true` and `false`, that stand for a number. */
      map: z.record(z.string(), z.number()).default({}),
      /** Name of a part -> where its number stands. */
      parts: z.record(part, pointer).default({}),
      /** Where an error stands. Any value but null, false and '' is one. */
      error: z.array(pointer).default(['/error']),
      /** Where a mark says that the sample cannot be scored: any value but null, false and ''. */
      invalid: z.array(pointer).default([]),
      /** Texts within an error or a mark that are the response's own fault, and what they earn. */
      map_error: z.record(z.string().min(1), z.number()).default({}),
      /** Where a reason stands: it goes into the details. */
      reason: pointer.optional(),
      /** The lowest and the highest score. A score outside is a failure. */
      range: z.tuple([z.number(), z.number()]).default([0, 1]),
      /** The JSON Schema (draft 2020-12) of every reply that holds a score. */
      schema: z.record(z.string(), z.unknown()).optional(),
      /** Several rows in one request: `items` leads to the body's list of one entry, `reply` to the reply's list. */
      batch: z
        .strictObject({
          items: pointer,
          reply: pointer,
          /** The member of an entry that the service repeats; the gateway writes it. If absent: entries are matched by order. */
          key: z.string().min(1).max(1000).optional(),
          /** The most rows of a request. */
          max: z.int().min(2).max(256).default(32),
        })
        .optional(),
    })
    .superRefine((given, context) => {
      const { body, range, map, map_error, read, schema } = given
      const [low, high] = range
      const add = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
      const fault = bodyFault(body)
      if (fault !== null) add(['body'], fault)
      if (low > high) add(['range'], 'the lowest score comes first')
      for (const [name, mapped] of Object.entries({ map, map_error }))
        for (const [text, score] of Object.entries(mapped))
          if (score < low || score > high)
            add([name, text], `${score} is outside the range ${low} to ${high}`)
      if (read === 'lean' && (low > 0 || high < 1)) add(['range'], 'needs 0 and 1 for `read: lean`')
      if (read !== 'number' && Object.keys(map).length > 0) add(['map'], 'goes with `read: number`')
      for (const [path, message] of batchFaults(given)) add(path, message)
      try {
        if (schema) schemaCheck(schema)
      } catch (error) {
        add(['schema'], error instanceof Error ? error.message : String(error))
      }
    }),
  truth: z.unknown(),
  range: ({ range }) => range,
  parts: ({ parts }) => Object.keys(parts),
  rm_preprocess({ sample, options: { body, range, batch } }) {
    const { placeholders, fill } = jsonTemplate(body)
    const needsCode = placeholders.some(({ name, isOptional }) => name === 'response.code' && !isOptional)
    if (needsCode && lastFence(sample.response) === null) return range[0]
    return serviceRequest(
      fill((placeholder) => lookUp(placeholder, sample), refuse),
      batch,
    )
  },
  rm_postprocess({ reply }, { options }): Score {
    const details = reasonIn(reply, options.reason)
    const own = ownFault(reply, options)
    if (own !== null) return { value: own, flags: ['own_fault'], ...details }
    checkForm(reply, options.schema)
    const parts = Object.entries(options.parts).map(([name, place]) => {
      const value = at(reply, place)
      if (typeof value !== 'number' || !Number.isFinite(value))
        throw new NoVerdict(`the reply has no number at ${place} for the part ${name}`)
      return [name, value] as const
    })
    const value = readers[options.read](reply, options)
    return { value, ...(parts.length > 0 && { parts: Object.fromEntries(parts) }), ...details }
  },
})

interface Batching {
  readonly body: Readonly<Record<string, Json>>
  readonly score: string
  readonly parts: Readonly<Record<string, string>>
  readonly batch?: ServiceBatch | undefined
}

/** A score outside of a row's own entry would be every row's. */
function* batchFaults({ body, score, parts, batch }: Batching): Generator<[path: string[], message: string]> {
  if (!batch) return
  const { items, reply, key } = batch
  const list = at(body, items)
  const [entry] = Array.isArray(list) ? (list as readonly Json[]) : []
  const isRight = Array.isArray(list) && list.length === 1
  if (
    !isRight ||
    (key !== undefined && (typeof entry !== 'object' || entry === null || Array.isArray(entry)))
  )
    yield [['batch', 'items'], `the body has no list of one ${key === undefined ? 'entry' : 'object'} there`]
  const own = `${reply}/0`
  const isOwn = (place: string) => place === own || place.startsWith(`${own}/`)
  const message = `stands outside of a row's own entry of the reply, which begins with ${own}`
  if (!isOwn(score)) yield [['score'], message]
  for (const [name, place] of Object.entries(parts)) if (!isOwn(place)) yield [['parts', name], message]
}

/** What is wrong with a body; null: nothing. */
function bodyFault(body: Readonly<Record<string, Json>>): string | null {
  let template: JsonTemplate
  try {
    template = jsonTemplate(body)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  const { placeholders } = template
  const key = filledKey(body)
  if (key !== null) return `${key} stands in a key, and keys are never filled: put it into a value`
  for (const { name, pointer: place, written } of placeholders) {
    if (name === 'params')
      return `${written}: a row has no params; send them in its extra_info, and write {extra./params}`
    if (!Object.hasOwn(values, name))
      return `${written}: there is no ${name}; there are ${Object.keys(values).join(', ')}`
    if (place.length > 0 && !structured.includes(name))
      return `${written}: ${name} is a text, which has no places`
  }
  if (placeholders.some(({ name }) => ofAnswer.includes(name))) return null
  return `it holds nothing of the answer, so that all answers would earn the same: put one of ${ofAnswer.map((name) => `{${name}}`).join(', ')} into it`
}

const placeholder = /\{([a-z][a-z_.]*?)(?:\.\/[^{}?]*)?\??\}/g

/** The first key with a placeholder in it, as it is written; null: none. */
function filledKey(value: Json): string | null {
  if (typeof value !== 'object' || value === null) return null
  for (const [key, inner] of Object.entries(value)) {
    const isName = (name = ''): boolean => Object.hasOwn(values, name) || name === 'params'
    const found = Array.isArray(value)
      ? undefined
      : [...key.matchAll(placeholder)].find(([, name]) => isName(name))
    const within = found?.[0] ?? filledKey(inner as Json)
    if (within !== null) return within
  }
  return null
}

function lookUp({ name, pointer: place, isOptional, written }: Placeholder, sample: Sample): Json {
  const whole = values[name]?.(sample)
  const value = whole === undefined ? undefined : valueAt(whole, place)
  if (value !== undefined) return value
  if (isOptional) return null
  throw new BadSample(`the row has nothing for ${written} of the request's body`)
}

function refuse({ written }: Placeholder): never {
  throw new BadSample(
    `${written} stands within a text of the request's body, but the row has no text, number or boolean for it`,
  )
}

const at = (reply: Json, place: string): Json | undefined => valueAt(reply, readPointer(place) ?? [])

interface Marks {
  readonly error: readonly string[]
  readonly invalid: readonly string[]
  readonly map_error: Readonly<Record<string, number>>
}

/** What a response earns by a fault of its own; null: no error and no mark stands in the reply. Throws NoVerdict for others. */
function ownFault(reply: Json, { error, invalid, map_error }: Marks): number | null {
  for (const place of [...error, ...invalid]) {
    const mark = at(reply, place)
    if (mark === undefined || mark === null || mark === false || mark === '') continue
    const known = Object.entries(map_error).find(([text]) => typeof mark === 'string' && mark.includes(text))
    if (known) return known[1]
    const what = invalid.includes(place) ? 'says that the sample cannot be scored' : 'reports an error'
    throw new NoVerdict(`the service ${what} (${place})`, 'judge_rejected')
  }
  return null
}

function checkForm(reply: Json, schema: object | undefined): void {
  if (schema === undefined) return
  try {
    if (schemaCheck(schema)(JSON.stringify(reply)) === null) return
  } catch (error) {
    if (!(error instanceof CheckTooLong)) throw error
    throw new NoVerdict('the schema has too many ways to read the reply')
  }
  throw new NoVerdict("the reply does not fit the step's schema")
}

interface Reading {
  readonly score: string
  readonly map: Readonly<Record<string, number>>
  readonly range: readonly [low: number, high: number]
}

/** The number at a place, or the one that `map` has for its text. */
function scoreAt(reply: Json, { score, map, range: [low, high] }: Reading): number {
  const value = at(reply, score)
  if (typeof value === 'number') {
    if (value >= low && value <= high) return value
    const place = `the score at ${score || "the reply's root"}`
    throw new NoVerdict(`${place} is outside the step's range of ${low} to ${high}`, 'judge_out_of_range')
  }
  const text = typeof value === 'string' || typeof value === 'boolean' ? String(value) : null
  const mapped = text !== null && Object.hasOwn(map, text) ? map[text] : undefined
  if (mapped !== undefined) return mapped
  const remedy = text === null ? '' : ', which the option map does not have'
  throw new NoVerdict(`the reply has no score at ${score || 'its root'}, but ${kindOf(value)}${remedy}`)
}

function kindOf(value: Json | undefined): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (typeof value === 'boolean') return 'true or false'
  if (typeof value === 'string') return 'a text'
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** The mean of a list. No list, an empty one and one of anything else than numbers and truth values are no score. */
function meanAt(reply: Json, { score, range: [low, high] }: Reading): number {
  const list = at(reply, score)
  const place = score || 'its root'
  if (!Array.isArray(list)) throw new NoVerdict(`the reply has no list at ${place}, but ${kindOf(list)}`)
  const values = (list as readonly Json[]).map((one) => (typeof one === 'boolean' ? Number(one) : one))
  if (values.length === 0 || !values.every((one): one is number => typeof one === 'number'))
    throw new NoVerdict(`the list at ${place} is empty or has something that is no number`)
  if (!values.every((one) => one >= low && one <= high))
    throw new NoVerdict(
      `a number at ${place} is outside the step's range of ${low} to ${high}`,
      'judge_out_of_range',
    )
  return values.reduce((sum, one) => sum + one, 0) / values.length
}

function leanScore(reply: Json, { score: place }: Reading): number {
  const isAccepted = leanAccepts(at(reply, place) ?? null)
  if (isAccepted === null) throw new NoVerdict(`what stands at ${place} is no result of Lean`)
  return Number(isAccepted)
}

const readers = { number: scoreAt, lean: leanScore, mean: meanAt } as const

function reasonIn(reply: Json, place: string | undefined): { readonly details?: { readonly reason: Json } } {
  const reason = place === undefined ? undefined : at(reply, place)
  return reason === undefined || reason === null ? {} : { details: { reason } }
}
