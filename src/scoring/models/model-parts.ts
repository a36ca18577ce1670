import type { Backend } from './backends/backend.ts'
import type { AnswerCache } from './dispatch/answer-cache.ts'
import type { Dispatcher } from './dispatch/dispatch.ts'
import type { Seat } from './memory/seat.ts'

/** What a model is made of. `seat`: its hold on its servers' GPU memory. */
export interface ModelParts {
  readonly dispatcher: Dispatcher
  readonly backend: Backend
  readonly headers: Record<string, string>
  readonly cache: AnswerCache
  readonly seat: Seat
}
