import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { ObservedGateway } from '../../observed-gateway.ts'
import { rolloutBody, runPattern, submissionOf, uidPattern } from '../../queue/envelope.ts'
import { overviewOf, queueOverview } from '../../queue/overview.ts'
import type { RolloutQueue } from '../../queue/queue.ts'
import type { Pending } from '../../queue/run-state.ts'
import type { RunStore } from '../../queue/run-store.ts'
import { grants, type KeyLimits } from '../auth.ts'
import { sentBytesOf } from '../body.ts'
import { answerBusyWith, refuse } from '../errors.ts'
import { replyBody } from '../reply-body.ts'
import { onDisconnect } from '../request-context.ts'
import {
  cursorOf,
  FinalReader,
  finalEvents,
  finalText,
  finalTexts,
  type News,
  partialTexts,
  WaitingReaders,
} from '../run-finals.ts'
import { submitLines } from '../run-lines.ts'
import type { ZodApp } from '../validation.ts'

const run = z.string().regex(runPattern, 'a name of up to 128 letters, digits, dots, colons, - and _')
const uid = z.string().regex(uidPattern, 'up to 200 visible ASCII characters')
const runParams = z.object({ run })
const rolloutParams = z.object({ run, uid })

const rewardsQuery = z.strictObject({
  after: z
    .string()
    .max(64)
    .optional()
    .describe('The last cursor that you have. Default: the oldest final that is kept.'),
  wait_s: z.coerce.number().min(0).max(60).default(0).describe('How long to wait if there is no final yet.'),
  limit: z.coerce.number().int().min(1).max(10_000).default(1000).describe('Maximum number of results.'),
  partials: z
    .stringbool()
    .default(false)
    .describe(
      'Also reads the early results of rollouts that asked for one. They are in a list of their own.',
    ),
})

const overviewQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(10_000).default(100).describe('Maximum number of runs.'),
})

const cancelBody = z
  .strictObject({
    uid: uid.optional(),
    group: z
      .union([z.string().max(1024), z.int()])
      .optional()
      .describe("The samples' group_id."),
    policy_version_below: z
      .number()
      .optional()
      .describe('Cancels what a version below this one began; samples without a policy_version stay.'),
  })
  .refine(
    (body) => Object.values(body).some((value) => value !== undefined),
    'name a uid, a group or a version',
  )

const events = 'text/event-stream'

/** What the routes of runs need. */
interface RunParts {
  readonly gateway: ObservedGateway
  /** null: off. */
  readonly queue: RolloutQueue | null
  readonly limits: KeyLimits
  readonly clock: Clock
}

/** /v1/runs: rollouts are accepted on disk, and their rewards are read by cursor. */
export function runRoutes(app: ZodApp, { gateway, queue, limits, clock }: RunParts): void {
  if (!queue) {
    const off = async (): Promise<never> => {
      throw new GatewayError(
        'RG_NOT_FOUND',
        "the queue is off: name its folder in gateway.yaml with 'queue: { folder: ../queue }'",
      )
    }
    // Said before the body is read, whatever its type.
    for (const url of ['/v1/queue', '/v1/runs', '/v1/runs/*'])
      app.all(url, { schema: { hide: true }, onRequest: off }, off)
    return
  }
  const tags = ['runs']
  const config = { scope: 'score' } as const
  const readers = new WaitingReaders(() => queue.settings.max_readers)
  const facts = (rollout: object) => ({ ...rollout, credits: queue.room.credits })
  const errorHandler = answerBusyWith(() => facts({}))
  app.put(
    '/v1/runs/:run/rollouts/:uid',
    {
      schema: {
        tags,
        summary: 'Submit a rollout; 202 once it is on disk',
        params: rolloutParams,
        body: rolloutBody,
      },
      config: { keepsBytes: true },
      errorHandler,
    },
    async (request, reply) => {
      const { params, body } = request
      limits.takeSamples(request, reply, 1)
      const times = { seconds: queue.settings.deadline_s, now: queue.now() }
      const submission = submissionOf(params.uid, body, sentBytesOf(request), times)
      const { attempt, state, pending } = await queue.submit(params.run, submission, limits.callerOf(request))
      return reply.code(202).send(facts({ uid: params.uid, attempt, state: stateOf(queue, state, pending) }))
    },
  )
  app.post(
    '/v1/runs/:run/rollouts',
    {
      schema: {
        tags,
        summary: 'Submit many rollouts as NDJSON, each line with its uid',
        consumes: ['application/x-ndjson'],
        params: runParams,
      },
      config: { lines: true },
      errorHandler,
    },
    async (request, reply) => {
      if (request.body !== null)
        throw new GatewayError(
          'RG_MEDIA_TYPE',
          "send a line for each rollout, with 'content-type: application/x-ndjson'",
        )
      const lines = linesOf(sentBytesOf(request), gateway.settings.limits.max_samples)
      limits.takeSamples(request, reply, lines.length)
      const { results, refusal, retryAfterS } = await submitLines(queue, request.params.run, lines, {
        maxValues: gateway.settings.limits.max_row_values,
        stateOf: (state, pending) => stateOf(queue, state, pending),
        sender: limits.callerOf(request),
      })
      reply.code(202).type('application/json; charset=utf-8')
      if (retryAfterS !== undefined) reply.header('retry-after', String(retryAfterS))
      const error = refusal && refuse(request, reply, refusal)
      return reply.send(replyBody(batchPieces(results, queue.room.credits, error)))
    },
  )
  app.get(
    '/v1/runs/:run/rewards',
    {
      schema: {
        tags,
        summary: 'Read finals in order of completion; with Accept: text/event-stream, as they come',
        params: runParams,
        querystring: rewardsQuery,
      },
      config,
      errorHandler,
    },
    async (request, reply) => {
      const { after, wait_s, limit, partials } = request.query
      const gone = new AbortController()
      onDisconnect(reply, () => gone.abort())
      const reader = new FinalReader(queue, request.params.run, clock, gone.signal, partials)
      if (request.headers.accept?.includes(events)) {
        const last = request.headers['last-event-id']
        const from = reader.read(typeof last === 'string' && last !== '' ? last : after)
        const mayRead = () => grants(request, gateway.keys, 'score')
        const leave = readers.enter()
        if (reply.raw.destroyed) leave()
        else reply.raw.once('close', leave)
        reply.header('cache-control', 'no-store')
        return reply.type(events).send(finalEvents(reader, from, mayRead))
      }
      const from = reader.read(after)
      const leave = wait_s > 0 ? readers.enter() : () => {}
      const news = await reader.next(from, limit, wait_s * 1000).finally(leave)
      const cursor = cursorOf(news.position)
      const pending = queue.runs.get(request.params.run)?.state.pending.size ?? 0
      reply.header('cache-control', 'no-store').type('application/json; charset=utf-8')
      return replyBody(rewardPieces(news, { cursor, unfinished: pending, credits: queue.room.credits }))
    },
  )
  app.post(
    '/v1/runs/:run/cancel',
    {
      schema: { tags, summary: 'Cancel rollouts that have no final', params: runParams, body: cancelBody },
      errorHandler,
    },
    async (request) => {
      const { uid, group, policy_version_below: policyBelow } = request.body
      const named = group === undefined ? undefined : String(group)
      return facts({ cancelled: await queue.cancel(request.params.run, { uid, group: named, policyBelow }) })
    },
  )
  app.get('/v1/runs', { schema: { tags, summary: 'List the runs of the queue' }, config }, async () =>
    facts({ runs: [...queue.runs.values()].map(runFacts) }),
  )
  app.get(
    '/v1/queue',
    {
      schema: {
        tags,
        summary: 'Get the backlog of each run, its rates, and what it waits for',
        querystring: overviewQuery,
        response: { 200: queueOverview },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      return overviewOf(queue, { most: request.query.limit, stalls: gateway.stalls() })
    },
  )
  app.get(
    '/v1/runs/:run',
    { schema: { tags, summary: 'Get the state of a run', params: runParams }, config },
    async (request) => {
      const store = queue.runs.get(request.params.run)
      if (!store) throw new GatewayError('RG_NOT_FOUND', 'the queue has no such run')
      const { damage } = store
      return facts({ ...runFacts(store), damage: damage.slice(0, 100).map(({ text }) => text) })
    },
  )
  app.get(
    '/v1/runs/:run/rollouts/:uid',
    { schema: { tags, summary: 'Get the state of a rollout', params: rolloutParams }, config },
    async (request, reply) => {
      const { run, uid } = request.params
      const store = queue.runs.get(run)
      const newest = store?.state.newestOf(uid)
      if (!store || newest === undefined)
        throw new GatewayError('RG_NOT_FOUND', 'the queue has no such rollout')
      if (typeof newest === 'object')
        return { uid, attempt: newest.head.attempt, state: stateOf(queue, 'accepted', newest) }
      const [final] = await store.reader.finalsAfter(newest - 1, 1, 1)
      if (!final) throw new GatewayError('RG_NOT_FOUND', 'the queue has no such rollout')
      reply.type('application/json; charset=utf-8')
      return finalText(cursorOf({ id: store.id, final: final.seq, partial: null }), final)
    },
  )
}

/** An accepted rollout is `queued`, `waiting` for its group, or `running`. */
const stateOf = (queue: RolloutQueue, state: string, pending: Pending | null): string =>
  state === 'accepted' && pending ? queue.scheduler.stateOf(pending) : state

function runFacts({ run, id, state, bytes, tornBytes }: RunStore): object {
  let oldest: number | null = null
  for (const { head } of state.pending) oldest = Math.min(oldest ?? head.at, head.at)
  return {
    run,
    unfinished: state.pending.size,
    /** Unix time in seconds. */
    oldest: oldest === null ? null : oldest / 1000,
    finals: state.last,
    expired: state.expired,
    cursor: cursorOf({ id, final: state.last, partial: null }),
    bytes,
    torn_bytes: tornBytes,
  }
}

const newline = 0x0a

/** The lines of a body that are not blank, as views of it, with their numbers from 1. */
function linesOf(
  bytes: Buffer,
  most: number,
): readonly { readonly number: number; readonly bytes: Buffer }[] {
  const lines: { number: number; bytes: Buffer }[] = []
  let number = 0
  for (let from = 0; from < bytes.length; ) {
    const next = bytes.indexOf(newline, from)
    const end = next < 0 ? bytes.length : next
    number += 1
    const last = bytes[end - 1] === 0x0d ? end - 1 : end
    if (last > from) lines.push({ number, bytes: bytes.subarray(from, last) })
    // Blank lines are counted, too: looking for the next one costs as much.
    if (number > most)
      throw new GatewayError(
        'RG_REQUEST_TOO_LARGE',
        `a request may have at most ${most} lines (limits.max_samples)`,
      )
    from = end + 1
  }
  if (lines.length === 0) throw new GatewayError('RG_REQUEST_INVALID', 'the body has no line')
  return lines
}

/** `error`: no line was accepted. */
function* batchPieces(
  results: readonly object[],
  credits: object,
  error: object | undefined,
): Generator<string> {
  let before = error ? `{"error":${JSON.stringify(error)},"results":[` : '{"results":['
  for (const result of results) {
    yield before + JSON.stringify(result)
    before = ','
  }
  yield `],"credits":${JSON.stringify(credits)}}`
}

function* rewardPieces(
  news: News,
  facts: { readonly cursor: string; readonly unfinished: number; readonly credits: object },
): Generator<string> {
  yield* listPieces('{"results":[', finalTexts(news))
  if (news.from.partial !== null) yield* listPieces('],"partials":[', partialTexts(news))
  yield `],${JSON.stringify(facts).slice(1)}`
}

function* listPieces(begin: string, texts: Iterable<{ readonly text: string }>): Generator<string> {
  yield begin
  let before = ''
  for (const { text } of texts) {
    yield before + text
    before = ','
  }
}
