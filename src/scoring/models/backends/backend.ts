import type { AskName, Asks, Reply } from '../../../contract/index.ts'
import type { Rendered, RenderedInput, Sampling } from '../interface/ask.ts'
import type { ModelConfig } from '../interface/model-config.ts'
import type { Body } from '../interface/question-json.ts'
import type { JsonObject, ParsedReply } from '../transport/reply.ts'
import type { HttpMessage } from '../transport/transport.ts'
import type { UpstreamError } from '../transport/upstream-error.ts'
import type { MemoryBackend } from './memory-backend.ts'

/** How a question is asked. `draw` is added to the seed, if there is one. */
export interface Settings {
  readonly sampling: Sampling
  readonly reply: Reply | undefined
  readonly draw: number
}

/** The path and body of a request. */
export interface Translation {
  readonly path: string
  readonly body: Body
}

/** Translates asks into one kind of server's API. Reply bodies are parsed, from replies with status 200. */
export interface Asking {
  /** Throws UpstreamError if this kind of server does not support the ask. */
  translate<A extends AskName>(ask: A, input: RenderedInput[A], settings: Settings): Translation
  /** The fully validated answer. Throws UpstreamError. */
  read<A extends AskName>(ask: A, body: unknown, input: RenderedInput[A]): ParsedReply<Asks[A]['answer']>
  /** Equal for questions that may share a request; null if this one may not. Throws UpstreamError if it is not supported. */
  batchKey<A extends AskName>(ask: A, input: RenderedInput[A], settings: Settings): string | null
  /** The request for questions with one batch key. */
  translateBatch<A extends AskName>(
    ask: A,
    inputs: readonly RenderedInput[A][],
    settings: Settings,
  ): Translation
  /** One answer or UpstreamError per input, in order. Throws UpstreamError if the whole reply is unusable. */
  readBatch<A extends AskName>(
    ask: A,
    body: unknown,
    inputs: readonly RenderedInput[A][],
  ): readonly (ParsedReply<unknown> | UpstreamError)[]
}

/** One kind of server. */
export interface Backend extends Asking {
  /** For decision models; absent: they are asked as others are. */
  readonly decisions?: Asking
  /** Path where a GET without credentials answers 200 while the server works; '' if there is none. */
  readonly healthPath: string
  /** Path where a GET with credentials lists the served models. */
  readonly modelsPath: string
  /** Names of counters at /metrics that grow with every generated token; empty if there are none. */
  readonly tokenCounters: readonly string[]
  /** Names of gauges at /metrics of the server's running and queued requests; null if there are none. */
  readonly queueMetrics: { readonly running: string; readonly waiting: string } | null
  /** Whether the list at `modelsPath` contains the name that the config uses. */
  readonly namesModels: boolean
  /** Checks that a reply of /generative_scoring comes from this model; throws UpstreamError. null: no such endpoint. */
  readonly generativeScoring: ((body: unknown) => JsonObject) | null
  /** Counts tokens; null if this kind of server cannot. */
  readonly tokens: { translate(input: Rendered): Translation; read(body: unknown): number } | null
  /** A request that a server that works answers at once with 200; absent: a question of one token. */
  readonly ping?: Pick<HttpMessage, 'method' | 'path' | 'body'>
  /** False: a request that a server may have received is not sent again. Absent: true. */
  readonly isIdempotent?: boolean
  /** Releases GPU memory and takes it again; null if this kind of server cannot. */
  readonly memory: MemoryBackend | null
}

/** What translates questions of an ask for a model's servers. */
export const askingOf = <B extends Pick<Backend, 'translate' | 'decisions'>>(
  backend: B,
  ask: AskName,
): B | Asking => (ask === 'decide' ? (backend.decisions ?? backend) : backend)

/** What a pool must know of a kind of server to watch its members. */
export type WatchedServer = Pick<
  Backend,
  'healthPath' | 'modelsPath' | 'namesModels' | 'tokenCounters' | 'queueMetrics'
> &
  (Pick<Backend, 'translate' | 'decisions' | 'ping'> | { readonly ping: NonNullable<Backend['ping']> })

/** Creates the backend of one model. */
export type BackendFactory = (config: ModelConfig) => Backend
