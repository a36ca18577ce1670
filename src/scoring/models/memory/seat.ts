import type { CancelToken } from '../api/cancel-token.ts'
import type { TenantState } from './gpu-turn.ts'

/** A model's hold on the memory of its servers: what it asks is counted, and it waits where they sleep. */
export interface Seat {
  readonly state: TenantState
  /** Since when questions wait while it cannot be awake, on the clock; null: none does. */
  readonly parkedSince: number | null
  /** Waits until the model is awake and may take a question; `leave` must follow. Rejects with UpstreamError. */
  enter(stop: CancelToken): Promise<void> | null
  leave(): void
  /** For a call that neither waits nor keeps the model awake: whether it may be made now. `giveBack` must follow. */
  borrow(): boolean
  giveBack(): void
  /** Why the last order failed, with the instance; '' where it did not. */
  readonly failure: string
  /** Gives the memory back once the questions under way are done. Resolves to false where that failed. */
  sleep(): Promise<boolean>
  /** Wakes the model, after its group's others have gone to sleep. Resolves to false where that failed. */
  wake(): Promise<boolean>
  /** An instance's answers are trusted again, whatever it said to the known question. */
  trust(address: string): void
  /** For when no question is under way or waiting any more. */
  remove(): void
}
