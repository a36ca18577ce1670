import type { AnswerCache } from './answer-cache.ts'
import type { Backend } from './backend.ts'
import type { Dispatcher } from './dispatch.ts'
import type { Seat } from './seat.ts'

/** What a model is made of. `seat`: its hold on its servers' GPU memory. */
export interface ModelParts {
  readonly dispatcher: Dispatcher
  readonly backend: Backend
  readonly headers: Record<string, string>
  readonly cache: AnswerCache
  readonly seat: Seat
}
