import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { heapShare } from '../../core/heap-share.ts'
import type { Failure, FailureKind } from '../../core/sample/sample.ts'
import { AllAttemptsFailed, dispatch, RetryBudget } from '../models/dispatch/dispatch.ts'
import { CancelToken, whenAborted } from '../models/interface/cancel-token.ts'
import type { ModelEvents } from '../models/interface/events.ts'
import { loadOf, QueueMemory } from '../models/pool/capacity.ts'
import { EndpointRegistry, type MemberOwner } from '../models/pool/endpoint-registry.ts'
import { InstancePool } from '../models/pool/pool.ts'
import { UpstreamError } from '../models/transport/upstream-error.ts'
import { NoExpectedValue } from './case-result.ts'
import {
  type Confinement,
  endedEarly,
  type ProgramOutcome,
  type ProgramRequest,
  type Sandbox,
  type SandboxEvents,
  type SandboxSnapshot,
  withoutLanguage,
} from './sandbox.ts'
import type { ServersConfig } from './sandbox-config.ts'
import { sandboxFusion } from './sandbox-fusion.ts'
import { ownServers, type SandboxBackend, type SandboxQuestion } from './sandbox-server.ts'

const backends: Readonly<Record<ServersConfig['backend'], SandboxBackend>> = {
  'reward-gateway': ownServers,
  'sandbox-fusion': sandboxFusion,
}

const mostReplyBytes = 64 * 1024 * 1024
/** Share of the heap for programs that wait for a server; their rows may take as much again. */
const parkedHeapShare = 0.2

/** The gateway's parts that a sandbox on servers needs. */
export interface PoolParts {
  readonly clock: Clock
  readonly events: SandboxEvents
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Runs programs on servers. A pool as models have it chooses the server, retries elsewhere what a server failed to run, and
 * holds programs back while no server can be asked.
 */
export class PooledSandbox implements Sandbox {
  readonly #name: string
  readonly #config: ServersConfig
  readonly #parts: PoolParts
  readonly #backend: SandboxBackend
  readonly #registry: EndpointRegistry
  readonly #pool: InstancePool
  readonly #headers: Record<string, string>
  readonly #events: ModelEvents
  readonly #budget: RetryBudget
  readonly #queueMemory = new QueueMemory(heapShare(parkedHeapShare))
  readonly #running = new Set<CancelToken>()

  constructor(name: string, config: ServersConfig, parts: PoolParts) {
    const { clock, events, env } = parts
    this.#name = name
    this.#config = config
    this.#parts = parts
    this.#backend = backends[config.backend]
    this.#events = eventsOf(events)
    this.#registry = new EndpointRegistry(clock, this.#events)
    const key = config.api_key_env ? env[config.api_key_env] : undefined
    this.#headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) }
    const { wait_for_instance: wait } = config
    this.#pool = new InstancePool(clock, {
      maxQueue: config.max_queue,
      maxLineMs: Number.POSITIVE_INFINITY,
      waitMs: wait === 'deadline' ? Number.POSITIVE_INFINITY : wait * 1000,
      random: Math.random,
      affinity: false,
    })
    const places = () => this.#pool.members.reduce((sum, { limit }) => sum + limit, 0)
    this.#budget = new RetryBudget(config.retry.budget, () => Math.max(10, places()))
    const owner: MemberOwner = {
      model: name,
      config: {
        ...config,
        model: name,
        served_model_aliases: [],
        health: { ...config.health, model: false, server_line: true },
      },
      headers: this.#headers,
      backend: this.#backend.watched,
    }
    for (const place of config.instances) this.#pool.add(this.#registry.memberOf(owner, place))
  }

  open(): Promise<Confinement> {
    const { api_key_env: variable } = this.#config
    if (variable !== undefined && !this.#parts.env[variable])
      return Promise.reject(
        new GatewayError(
          'RG_CONFIG_INVALID',
          `the sandbox '${this.#name}' reads its key from ${variable}, which is not set`,
        ),
      )
    return Promise.resolve(this.#confinement)
  }

  async run(request: ProgramRequest): Promise<ProgramOutcome> {
    const { clock } = this.#parts
    const { language } = request.execution
    const { languages } = this.#config
    if (!languages.includes(language)) return { failure: withoutLanguage(this.#name, language, languages) }
    if (request.signal.aborted || clock.now() >= request.deadline) return { failure: endedEarly(request) }
    const stop = new CancelToken()
    const began = clock.now()
    const off = whenAborted(request.signal, () => stop.stop())
    const cancel = clock.after(request.deadline - began, () => stop.stop())
    this.#running.add(stop)
    try {
      const ask = <T>(question: SandboxQuestion<T>) => this.#ask(question, request, stop)
      return await this.#backend.run(request.execution, clock, ask, request.excerpts === true)
    } catch (error) {
      return { failure: this.#failure(error, request, stop, clock.now() - began) }
    } finally {
      stop.stop()
      this.#running.delete(stop)
      off()
      cancel()
    }
  }

  snapshot(): SandboxSnapshot {
    const { liveness } = this.#pool
    const { clock } = this.#parts
    const { parkedSince: since } = liveness
    return {
      name: this.#name,
      backend: this.#config.backend,
      confinement: this.#confinement,
      waiting: this.#pool.waiting,
      parked:
        since === null || this.#running.size === 0
          ? null
          : {
              questions: this.#running.size,
              since: Math.round(Date.now() - (clock.now() - since)),
            },
      isPatient: this.#pool.isPatient && liveness.hasLived,
      instances: this.#pool.members.map((member) => ({
        address: member.address,
        state: member.state,
        weight: member.weight,
        inFlight: member.inFlight,
        limit: Math.min(member.limit, member.endpoint.maxInFlight),
        latencyMs: member.latencyMs,
        calls: member.calls,
        errors: member.errors,
      })),
    }
  }

  close(): void {
    for (const stop of this.#running) stop.stop()
    this.#pool.close()
    void this.#registry.close()
  }

  get #confinement(): Confinement {
    const { length } = this.#config.instances
    return {
      text: `programs run on ${length === 1 ? 'a server' : `${length} servers`} ${this.#backend.confinement}`,
      isConfined: true,
    }
  }

  async #ask<T>(
    { path, body, seconds, read }: SandboxQuestion<T>,
    { deadline, signal }: ProgramRequest,
    stop: CancelToken,
  ): Promise<T> {
    const { clock } = this.#parts
    const to = {
      model: this.#name,
      clock,
      events: this.#events,
      pool: this.#pool,
      queueMemory: this.#queueMemory,
      budget: this.#budget,
      hedge: null,
      timeoutMs: (seconds + this.#config.timeout_s) * 1000,
      maxReplyBytes: mostReplyBytes,
      maxRetries: this.#config.retry.max,
      pauseMs: this.#config.retry.pause_ms,
      random: Math.random,
    }
    const work = {
      ask: 'execute',
      message: { method: 'POST', path, headers: this.#headers, body },
      load: loadOf(body),
      prefix: '',
      request: signal,
      deadline,
      read: (reply: Parameters<typeof read>[0]) => ({ answer: read(reply), prompt: 0, completion: 0 }),
    } as const
    return (await dispatch<T>(to, work, stop)).answer
  }

  #failure(error: unknown, request: ProgramRequest, stop: CancelToken, ms: number): Failure {
    const fault = error instanceof AllAttemptsFailed ? error.fault : error
    if (fault instanceof NoExpectedValue)
      return { kind: 'bad_sample', retryable: false, detail: fault.message }
    if (!(fault instanceof UpstreamError)) throw error
    const attempts = error instanceof AllAttemptsFailed ? error.attempts : []
    const isDead = this.#pool.isDead
    if (stop.aborted && !(isDead && !request.signal.aborted))
      return { ...endedEarly(request), ...(attempts.length > 0 && { attempts }) }
    const kind = stop.aborted ? 'sandbox_unreachable' : kindOf(fault.kind)
    const parked = `no server of the sandbox '${this.#name}' answers; the program waited for ${Math.round(ms / 100) / 10} s`
    return {
      kind,
      // What a server refuses, another attempt does not change.
      retryable: stop.aborted || (fault.kind !== 'judge_rejected' && fault.kind !== 'bad_sample'),
      detail: isDead && kind === 'sandbox_unreachable' ? parked : fault.message,
      ...(attempts.length > 0 && { attempts }),
    }
  }
}

/** Kinds of failures that say the same of a program as of a question. */
const own: ReadonlySet<FailureKind> = new Set(['overloaded', 'deadline', 'cancelled', 'bad_sample'])

/** What a failure of a server means for a sample. A timeout cannot be told from a slow program, so it is no verdict. */
function kindOf(kind: FailureKind): FailureKind {
  if (kind === 'judge_timeout') return 'sandbox_timeout'
  return own.has(kind) ? kind : 'sandbox_unreachable'
}

/** A pool's events, by the words of sandboxes. */
const eventsOf = (events: SandboxEvents): ModelEvents => ({
  callEnded({ model: sandbox, instance, ms, outcome }) {
    const kind = outcome === 'ok' ? 'ok' : outcome === 'abandoned' ? 'cancelled' : kindOf(outcome)
    events.ended?.({ sandbox, instance, ms, outcome: kind })
  },
  queued: ({ model: sandbox, ms }) => events.queued?.({ sandbox, ms }),
  retried: ({ model: sandbox, kind }) => events.retried?.({ sandbox, kind: kindOf(kind) }),
  ejected: ({ model: sandbox, instance, reason }) => events.ejected?.({ sandbox, instance, reason }),
  readmitted: ({ model: sandbox, instance }) => events.readmitted?.({ sandbox, instance }),
})
