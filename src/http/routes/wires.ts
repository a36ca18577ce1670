import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Gateway, ScoreJob } from '../../gateway/gateway.ts'
import type { RequestMetrics } from '../../telemetry/metrics/request-metrics.ts'
import { wires } from '../../wire/index.ts'
import { settle } from '../../wire/settle.ts'
import type { Wire, WireRoute } from '../../wire/wire.ts'
import type { WireSettings } from '../../wire/wire-settings.ts'
import { digestOf, odditiesOf } from '../body.ts'
import { goneSignal } from '../gone.ts'
import type { KeyLimits } from '../key-limits.ts'
import { timeModels } from '../model-time.ts'
import { traceOf } from '../tracing.ts'
import type { ZodApp } from '../validation.ts'
import { scoreReading, shapeOf } from '../wire-score.ts'
import { openWireState, type WireState } from '../wire-state.ts'

const params = z.object({ reward: z.string() })

/** POST /wire/<trainer>/<reward>...: the trainers' own formats. Throws RG_CONFIG_INVALID for truths that cannot be read. */
export function wireRoutes(
  app: ZodApp,
  gateway: Gateway,
  limits: KeyLimits,
  repeated: RequestMetrics['repeated'],
): void {
  const state = openWireState(gateway, app.log)
  for (const wire of wires) {
    const tags = [`wire: ${wire.name}`]
    const address = `/wire/${wire.name}/:reward`
    for (const [path, route] of Object.entries(wire.routes)) {
      const { summary, body, query: querystring } = route
      app.post(
        `${address}${path}`,
        { schema: { tags, summary, params, querystring, body }, config: { repeats: true } },
        (request, reply) => answer(gateway, limits, repeated, state(), wire, path, route, request, reply),
      )
    }
    for (const [path, reply] of Object.entries(wire.fixed ?? {})) {
      const schema = { tags, summary: 'Nothing to prepare', params }
      app.post(`${address}${path}`, { schema }, async () => reply)
    }
  }
}

async function answer(
  gateway: Gateway,
  limits: KeyLimits,
  repeated: RequestMetrics['repeated'],
  { truths, repeats, held }: WireState,
  wire: Wire,
  path: string,
  route: WireRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { body, query } = request
  const { reward } = request.params as z.output<typeof params>
  const configured: Readonly<Record<string, WireSettings | undefined>> = gateway.settings.wires
  const settings = configured[wire.name] ?? {}
  const plan = gateway.reward(reward)
  const reading = route.read({
    body,
    query,
    oddities: odditiesOf(request),
    truths: truths.get(wire.name) ?? null,
  })
  limits.takeSamples(request, reply, reading.rows.length)
  const seconds = settings.deadline_s ?? wire.deadlineS
  const deadlineMs = settings.deadline_s === undefined ? reading.deadlineMs : undefined
  const limit = deadlineMs ?? (seconds === null ? undefined : seconds * 1000)
  const { run } = query as { run?: string }
  const key = [wire.name, path, reward, plan.version, JSON.stringify(query), digestOf(request)].join('\n')
  let isRepeat = true
  const scored = repeats.join(key, goneSignal(reply), (signal) => {
    isRepeat = false
    const job = {
      requestId: request.id,
      ...traceOf(request),
      isRefusable: true,
      signal,
      ...(limit !== undefined && { deadlineMs: limit }),
      ...overriding(settings),
      ...(run !== undefined && { run }),
    }
    return scoreReading(gateway, held, plan, reading, job, () => timeModels(request))
  })
  if (isRepeat) repeated(wire.name)
  const { outcomes } = await scored
  const answers = settle(wire.name, route.invalid, outcomes, settings.on_invalid)
  // Some clients refuse any other type, and a bare number is JSON too.
  return reply.type('application/json').send(JSON.stringify(reading.write(answers, shapeOf(plan))))
}

/** A wire's own `on_invalid` goes before the reward's; what fails is for the wire to say. */
function overriding({ on_invalid: setting }: WireSettings): Pick<ScoreJob, 'onInvalid'> {
  if (setting === undefined || setting === 'fail') return {}
  if (typeof setting === 'number') return { onInvalid: { kind: 'number', value: setting } }
  return { onInvalid: { kind: 'group_mean', fallback: setting === 'group_mean' ? null : setting.group_mean } }
}
