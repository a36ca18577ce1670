import type { AskName, Asks, Reply } from '../contract/index.ts'
import type { Reading } from './dispatch.ts'
import type { ModelConfig } from './model-config.ts'
import type { RenderedInput, Sampling } from './models.ts'
import type { JsonObject } from './reply.ts'

/** What a question asks beside its text. `draw` moves the seed, where one is set. */
export interface Settings {
  readonly sampling: Sampling
  readonly reply: Reply | undefined
  readonly draw: number
}

/** The bytes of one ask. */
export interface Translation {
  readonly path: string
  readonly body: string
}

/** The translator between asks and one kind of server. */
export interface Backend {
  /** Throws Fault where this kind of server cannot be asked so. */
  translate<A extends AskName>(ask: A, input: RenderedInput[A], settings: Settings): Translation
  /** The answer of a reply with status 200, checked in every part. Throws Fault. */
  read<A extends AskName>(ask: A, body: JsonObject, input: RenderedInput[A]): Reading<Asks[A]['answer']>
  /** Where a GET answers 200 while the server works. */
  readonly healthPath: string
  /** Where a GET lists the served models; '' where there is no such list. */
  readonly modelsPath: string
}

export type BackendFactory = (config: ModelConfig) => Backend
