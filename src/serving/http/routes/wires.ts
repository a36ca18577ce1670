import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { turnFor, turnForOne, workInSlices } from '../../../core/slices.ts'
import type { Gateway } from '../../../scoring/gateway/gateway.ts'
import { wires } from '../../../trainers/index.ts'
import { applyInvalidPolicy } from '../../../trainers/invalid-policy.ts'
import type { Wire, WireRoute } from '../../../trainers/wire.ts'
import type { WireSettings } from '../../../trainers/wire-settings.ts'
import type { RequestMetrics } from '../../telemetry/metrics/request-metrics.ts'
import { bodyBytesOf, digestOf, odditiesOf } from '../body.ts'
import { goneSignal } from '../gone.ts'
import type { KeyLimits } from '../key-limits.ts'
import { bodyOf, jsonPieces } from '../pieces.ts'
import { traceOf } from '../tracing.ts'
import type { ZodApp } from '../validation.ts'
import { timeWaits } from '../wait-time.ts'
import { groupJob, shapeOf } from '../wires/wire-reward.ts'
import { openWireState, type WireState } from '../wires/wire-state.ts'

const params = z.object({ reward: z.string() })

/** What the routes of all wires work with. `repeated` is told of each request that joined an earlier one. */
interface WireParts {
  readonly gateway: Gateway
  readonly limits: KeyLimits
  readonly clock: Clock
  readonly repeated: RequestMetrics['repeated']
}

/** POST /wire/<trainer>/<reward>...: the trainers' own formats. Throws RG_CONFIG_INVALID for truths that cannot be read. */
export async function wireRoutes(app: ZodApp, parts: WireParts): Promise<void> {
  const state = await openWireState(parts.gateway, parts.clock, app.log)
  for (const wire of wires) {
    const tags = [`wire: ${wire.name}`]
    const address = `/wire/${wire.name}/:reward`
    for (const [path, route] of Object.entries(wire.routes)) {
      const { summary, body, query: querystring } = route
      app.post(
        `${address}${path}`,
        {
          schema: { tags, summary, params, querystring, body },
          config: { repeats: true, rows: route.rows ?? [] },
        },
        async (request, reply) => answer(parts, await state(), { wire, path, route }, request, reply),
      )
    }
    for (const [path, reply] of Object.entries(wire.fixed ?? {})) {
      const schema = { tags, summary: 'Nothing to prepare', params }
      app.post(`${address}${path}`, { schema }, async () => reply)
    }
  }
}

async function answer(
  { gateway, limits, repeated }: WireParts,
  { truths, repeats }: WireState,
  { wire, path, route }: { readonly wire: Wire; readonly path: string; readonly route: WireRoute },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { body, query } = request
  const { reward } = request.params as z.output<typeof params>
  const configured: Readonly<Record<string, WireSettings | undefined>> = gateway.settings.trainers
  const { deadline_s, on_invalid: onInvalid } = configured[wire.name] ?? {}
  const plan = gateway.reward(reward)
  // A schema takes long over a long row, too.
  const read = turnFor(bodyBytesOf(request))
  if (read !== null) await read
  const reading = await route.read({
    body,
    query,
    oddities: odditiesOf(request),
    truths: truths.get(wire.name) ?? null,
    maxRowValues: gateway.settings.limits.max_row_values,
  })
  limits.takeSamples(request, reply, reading.rows.length)
  const grouped = groupJob(plan, reading)
  const seconds = deadline_s ?? wire.deadlineS
  const asked = deadline_s === undefined ? reading.deadlineMs : undefined
  const deadlineMs = asked ?? (seconds === null ? undefined : seconds * 1000)
  const { run } = query as { run?: string }
  const key = [wire.name, path, reward, plan.version, JSON.stringify(query), digestOf(request)].join('\n')
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
      // It goes before the reward's own; what fails is for the wire to say.
      ...(onInvalid !== undefined && onInvalid !== 'fail' && { onInvalid }),
      ...(run !== undefined && { run }),
      ...grouped,
      waitTime: timeWaits(request),
    })
  }
  const gone = goneSignal(reply)
  // Where answers wait for each other, the engine tells a retry from the same answer of the next epoch.
  const scored = grouped.holdsGroups ? score(gone) : repeats.join(key, gone, score)
  if (isRepeat) repeated(wire.name)
  const { outcomes } = await scored
  // All who sent the same are answered when it is done; a reply may send a long row back.
  const turn = isRepeat ? turnForOne() : turnFor(bodyBytesOf(request))
  if (turn !== null) await turn
  const write = () =>
    reading.write(applyInvalidPolicy(wire.name, route.invalid, outcomes, onInvalid), shapeOf(plan))
  // All who waited for one large request are answered when it is done.
  const written = outcomes.length > atOnce ? await workInSlices(later(write)) : write()
  // Some clients refuse any other type, and a bare number is JSON too.
  return reply.type('application/json').send(bodyOf(jsonPieces(written, route.writesNaN)))
}

/** Rows of a reply that is written without a look at the clock. */
const atOnce = 32

function* later<T>(work: () => T): Generator<void, T> {
  yield
  return work()
}
