import type { AskName, Asks, Reply } from '../../../contract/index.ts'
import type { Rendered, RenderedInput, Sampling } from '../api/ask.ts'
import type { ModelConfig } from '../api/model-config.ts'
import type { JsonObject, ParsedReply } from '../transport/reply.ts'
import type { UpstreamError } from '../transport/upstream-error.ts'
import type { MemoryBackend } from './memory-backend.ts'

/** What a question asks beside its text. `draw` moves the seed, where one is set. */
export interface Settings {
  readonly sampling: Sampling
  readonly reply: Reply | undefined
  readonly draw: number
}

/** The bytes of one request. */
export interface Translation {
  readonly path: string
  readonly body: string | Buffer
}

/** The translator between asks and one kind of server. Bodies come parsed, from replies with status 200. */
export interface Backend {
  /** Throws UpstreamError where this kind of server cannot be asked so. */
  translate<A extends AskName>(ask: A, input: RenderedInput[A], settings: Settings): Translation
  /** The answer, checked in every part. Throws UpstreamError. */
  read<A extends AskName>(ask: A, body: unknown, input: RenderedInput[A]): ParsedReply<Asks[A]['answer']>
  /** Equal for questions that may share a request; null: this one may not. Throws UpstreamError where it cannot be asked. */
  batchKey<A extends AskName>(ask: A, input: RenderedInput[A], settings: Settings): string | null
  /** Of questions of one kind. */
  translateBatch<A extends AskName>(
    ask: A,
    inputs: readonly RenderedInput[A][],
    settings: Settings,
  ): Translation
  /** One answer or UpstreamError an input, in their order. Throws UpstreamError where the reply as a whole is unusable. */
  readBatch<A extends AskName>(
    ask: A,
    body: unknown,
    inputs: readonly RenderedInput[A][],
  ): readonly (ParsedReply<unknown> | UpstreamError)[]
  /** Where a GET without credentials answers 200 while the server works; '' where there is no such path. */
  readonly healthPath: string
  /** Where a GET with credentials lists the served models. */
  readonly modelsPath: string
  /** Metrics at /metrics that grow with every token that is written; empty: it has none. */
  readonly tokenCounters: readonly string[]
  /** Gauges at /metrics of its questions at work and in its own line; null: it has none. */
  readonly queueMetrics: { readonly running: string; readonly waiting: string } | null
  /** Whether that list names the model that is asked for. */
  readonly namesModels: boolean
  /** A reply of this model, as an object; throws UpstreamError for another's. null: it has no /generative_scoring. */
  readonly generativeScoring: ((body: unknown) => JsonObject) | null
  /** null: this kind of server cannot count tokens. */
  readonly tokens: { translate(input: Rendered): Translation; read(body: unknown): number } | null
  /** How an instance gives its GPU memory back and takes it again; null: it cannot. */
  readonly memory: MemoryBackend | null
}

/** Makes the backend of one model. */
export type BackendFactory = (config: ModelConfig) => Backend
