import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { GatewayError } from '../../../core/errors.ts'
import { type MaybePromise, turnFor, turnForOne, workInSlices } from '../../../core/slices.ts'
import { isOverGroup } from '../../../scoring/engine/step.ts'
import type { Gateway, GatewayJob } from '../../../scoring/gateway/gateway.ts'
import {
  applyInvalidPolicy,
  type ParsedRequest,
  type RewardShape,
  type TrainerFormat,
  type TrainerRoute,
  type TrainerSettings,
} from '../../../trainers/format.ts'
import { type GroundTruthIndex, openGroundTruthIndexes } from '../../../trainers/ground-truth-index.ts'
import { trainerFormats } from '../../../trainers/index.ts'
import type { RequestMetrics } from '../../telemetry/metrics/request-metrics.ts'
import type { KeyLimits } from '../auth.ts'
import { bodyBytesOf, digestOf, nonJsonLiteralsOf } from '../body.ts'
import { Repeats } from '../repeats.ts'
import { jsonPieces, replyBody } from '../reply-body.ts'
import { disconnectSignal, startWaitTime, traceOf } from '../request-context.ts'
import type { ZodApp } from '../validation.ts'

const params = z.object({ reward: z.string() })

/** What the routes of all trainers need. `repeated` is called for each request that was answered by an earlier one. */
interface TrainerParts {
  readonly gateway: Gateway
  readonly limits: KeyLimits
  readonly clock: Clock
  readonly repeated: RequestMetrics['repeated']
}

/** POST /wire/<trainer>/<reward>...: the trainers' own formats. Throws RG_CONFIG_INVALID if ground truths cannot be read. */
export async function trainerRoutes(app: ZodApp, parts: TrainerParts): Promise<void> {
  const state = await openTrainerState(parts.gateway, parts.clock, app.log)
  for (const trainer of trainerFormats) {
    const tags = [`trainer: ${trainer.name}`]
    const address = `/wire/${trainer.name}/:reward`
    for (const [path, route] of Object.entries(trainer.routes)) {
      const { summary, body, query: querystring } = route
      app.post(
        `${address}${path}`,
        {
          schema: { tags, summary, params, querystring, body },
          config: { repeats: true, rows: route.rows ?? [] },
        },
        async (request, reply) => answer(parts, await state(), { trainer, path, route }, request, reply),
      )
    }
    for (const [path, reply] of Object.entries(trainer.fixed ?? {})) {
      const schema = { tags, summary: 'Does nothing; the trainer expects this route', params }
      app.post(`${address}${path}`, { schema }, async () => reply)
    }
    for (const [path, { summary, read }] of Object.entries(trainer.facts ?? {}))
      app.get<{ Params: z.output<typeof params> }>(
        `${address}${path}`,
        { schema: { tags, summary, params } },
        async (request, reply) =>
          reply
            .type('application/json')
            .send(JSON.stringify(read(shapeOf(parts.gateway.reward(request.params.reward))))),
      )
  }
}

async function answer(
  { gateway, limits, repeated }: TrainerParts,
  { truths, repeats }: TrainerState,
  {
    trainer,
    path,
    route,
  }: { readonly trainer: TrainerFormat; readonly path: string; readonly route: TrainerRoute },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { body, query } = request
  const { reward } = request.params as z.output<typeof params>
  const configured: Readonly<Record<string, TrainerSettings | undefined>> = gateway.settings.trainers
  const { deadline_s, on_invalid: onInvalid } = configured[trainer.name] ?? {}
  const plan = gateway.reward(reward)
  // Validating a long row takes long, so reading it gets a turn of its own.
  const read = turnFor(bodyBytesOf(request))
  if (read !== null) await read
  const reading = await route.read({
    body,
    query,
    literals: nonJsonLiteralsOf(request),
    groundTruths: truths.get(trainer.name) ?? null,
    maxRowValues: gateway.settings.limits.max_row_values,
  })
  limits.takeSamples(request, reply, reading.rows.length)
  const grouped = groupJob(plan, reading)
  const seconds = deadline_s ?? trainer.deadlineS
  const asked = deadline_s === undefined ? reading.deadlineMs : undefined
  const deadlineMs = asked ?? (seconds === null ? undefined : seconds * 1000)
  const { run } = query as { run?: string }
  const key = [trainer.name, path, reward, plan.version, JSON.stringify(query), digestOf(request)].join('\n')
  let isRepeat = true
  const score = (signal: AbortSignal) => {
    isRepeat = false
    return gateway.score({
      reward,
      rows: reading.rows,
      requestId: request.id,
      trace: traceOf(request),
      isRefusable: true,
      bodyBytes: bodyBytesOf(request),
      signal,
      ...(deadlineMs !== undefined && { deadlineMs }),
      // Overrides the reward's own setting; `fail` is left to the trainer's format.
      ...(onInvalid !== undefined && onInvalid !== 'fail' && { onInvalid }),
      ...(run !== undefined && { run }),
      ...grouped,
      waitTime: startWaitTime(request),
      arrived: request.arrived,
    })
  }
  const gone = disconnectSignal(reply)
  // Answers of groups are not repeated here: the engine tells a retry from the same answer in the next epoch.
  const scored = grouped.holdsGroups ? score(gone) : repeats.join(key, gone, score)
  if (isRepeat) repeated(trainer.name)
  const { outcomes } = await scored
  // All identical requests are answered at the same time, and a reply may echo a long row.
  const turn = isRepeat ? turnForOne() : turnFor(bodyBytesOf(request))
  if (turn !== null) await turn
  const write = () =>
    reading.write(applyInvalidPolicy(trainer.name, route.invalid, outcomes, onInvalid), shapeOf(plan))
  // All identical requests are answered at the same time, so large replies are written in slices.
  const written = outcomes.length > unslicedRows ? await workInSlices(later(write)) : write()
  // Some clients accept no other type, and a bare number is JSON, too.
  return reply.type('application/json').send(replyBody(jsonPieces(written, route.writesNaN)))
}

/** Replies up to this many rows are written at once. */
const unslicedRows = 32

function* later<T>(work: () => T): Generator<void, T> {
  yield
  return work()
}

/** What trainers' routes keep for one version of the configs. */
interface TrainerState {
  /** By trainer; only those that look up ground truths by prompt. */
  readonly truths: ReadonlyMap<string, GroundTruthIndex>
  readonly repeats: Repeats
}

/**
 * Returns a function that gives the state for the current configs. The first request after a reload starts to read it again;
 * requests that arrive meanwhile wait for it. Rejects with RG_CONFIG_INVALID if the ground truths cannot be read. After a
 * reload the old ones stay in use instead, and the log says so.
 */
async function openTrainerState(
  gateway: Gateway,
  clock: Clock,
  log: FastifyBaseLogger,
): Promise<() => MaybePromise<TrainerState>> {
  const read = async ({ trainers }: Gateway['settings']): Promise<TrainerState> => ({
    truths: await openGroundTruthIndexes(trainers),
    repeats: new Repeats(clock),
  })
  let { settings } = gateway
  let truths: TrainerState['truths']
  let state: MaybePromise<TrainerState> = await read(settings)
  truths = state.truths
  const readAgain = async (): Promise<TrainerState> => {
    try {
      const next = await read(settings)
      truths = next.truths
      return next
    } catch (error) {
      const problems = error instanceof GatewayError ? error.problems : []
      log.error(
        { err: error, problems },
        'ground truths of a trainer cannot be read; the old ones stay in use',
      )
      return { truths, repeats: new Repeats(clock) }
    }
  }
  return () => {
    if (gateway.settings === settings) return state
    settings = gateway.settings
    const reading = readAgain()
    state = reading
    void reading.then((read) => {
      if (state === reading) state = read
    })
    return state
  }
}

type Plan = ReturnType<Gateway['reward']>

/** What a reply needs to know about its reward. */
export const shapeOf = ({ steps, formula }: Pick<Plan, 'steps' | 'formula'>): RewardShape => ({
  isSum: formula === null && steps.slice(1).every(({ op }) => op === 'add'),
  comparesGroups: steps.some(isOverGroup),
})

/**
 * Marks a request whose answers must wait for the rest of their group, because a step of the reward compares them. Throws
 * RG_REQUEST_INVALID if such a step exists and the trainer's format does not name the group.
 */
function groupJob({ name, steps }: Plan, { group }: ParsedRequest): Pick<GatewayJob, 'holdsGroups'> {
  const over = steps.find(isOverGroup)
  if (!over) return {}
  if (group) return { holdsGroups: true }
  throw new GatewayError(
    'RG_REQUEST_INVALID',
    `the step '${over.name}' of '${name}' compares the answers of a group, but this format sends them separately; send whole groups to /v1/score, or add ?group_size=N from NeMo Gym`,
  )
}
