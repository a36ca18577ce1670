import type { Clock } from '../core/clock.ts'
import { uniform } from './hash.ts'

/** Faults of model servers. `wrong-model` refuses requests that name a model, and lists another in /v1/models. */
export const faultKinds = [
  'slow',
  'hang',
  '500',
  '503',
  '429',
  'reset',
  'garbage',
  'half-body',
  'stall',
  'wrong-model',
  'empty-choices',
  'nan',
  'wrong-type',
  'error-body',
  'length',
  'null-content',
  'tool-call',
  'refusal',
] as const

/** Faults of servers that run programs. `half-output`: the end of what a program printed is missing. */
const programFaultKinds = ['sandbox-error', 'half-output', 'half-json'] as const

/** Faults that can be injected: those of model servers, and those of servers that run programs. */
export const allFaultKinds = [...faultKinds, ...programFaultKinds] as const

export type FaultKind = (typeof allFaultKinds)[number]

/** What happens to held requests once the fault is over. */
export const recoveries = ['answer', 'drop'] as const

export type Recovery = (typeof recoveries)[number]

/** A fault and when it strikes. Without `rate` and `next`, it strikes every matching request. */
export interface InjectedFault {
  readonly kind: FaultKind
  /** Share of the matching requests, 0 to 1. */
  readonly rate?: number
  /** The number of times that it strikes. */
  readonly next?: number
  /** Matching requests to let pass first. */
  readonly skip?: number
  /** Prefix of the path. If absent: every path that asks the model for something (so not /health). */
  readonly path?: string
  /** Starts this many milliseconds after it was set (0). */
  readonly afterMs?: number
  /** Lasts this many milliseconds. If absent: until other faults are set. */
  readonly forMs?: number
  /** `slow`: the factor by which requests slow down (10). */
  readonly factor?: number
  /** `slow`: extra milliseconds (0). `stall`: length of the silence; if absent, forever. */
  readonly ms?: number
  /** `503`, `429`: the Retry-After header in seconds. If absent: no header. */
  readonly retryAfterS?: number
  /** `stall`, `half-body` in a stream: after this many tokens. If absent: within the second event. */
  readonly tokens?: number
  /**
   * `hang`: the server holds every answer, including running ones, and answers or drops them when the fault
   * is over. If absent, the struck request never ends. `stall` with `ms`: continues (the default) or drops
   * the connection.
   */
  readonly recovery?: Recovery
}

interface Armed {
  readonly fault: InjectedFault
  readonly from: number
  readonly until: number
  left: number
  toSkip: number
  readonly held: Set<() => void>
  cancel: () => void
}

/** The active faults, and which requests they strike. Deterministic for a seed and order of requests. */
export class FaultScript {
  readonly #seed: string | number
  readonly #clock: Clock
  #armed: Armed[] = []
  #drawn = 0

  constructor(seed: string | number, clock: Clock, faults: readonly InjectedFault[] = []) {
    this.#seed = seed
    this.#clock = clock
    this.set(faults)
  }

  /** Replaces all faults. Hangs end. */
  set(faults: readonly InjectedFault[]): void {
    const now = this.#clock.now()
    const before = this.#armed
    this.#armed = faults.map((fault) => {
      const from = now + (fault.afterMs ?? 0)
      return {
        fault,
        from,
        until: from + (fault.forMs ?? Number.POSITIVE_INFINITY),
        left: fault.next ?? Number.POSITIVE_INFINITY,
        toSkip: fault.skip ?? 0,
        held: new Set(),
        cancel: () => {},
      }
    })
    for (const armed of before) free(armed)
  }

  /**
   * The first fault that strikes this request, or null. `asksModel` is false for probes and control paths.
   */
  strike(path: string, asksModel: boolean): InjectedFault | null {
    for (const armed of this.#armed) {
      const { fault } = armed
      if (!matches(fault, path, asksModel) || !this.#isOpen(armed)) continue
      if (armed.left <= 0) continue
      if (armed.toSkip > 0) {
        armed.toSkip -= 1
        continue
      }
      if (fault.rate !== undefined && uniform(this.#seed, 'fault', this.#drawn++) >= fault.rate) continue
      armed.left -= 1
      return fault
    }
    return null
  }

  /**
   * Null if nothing holds the answer to this request; otherwise resolves when the hang is over. A hang
   * without `rate`, `next` and `skip` also holds earlier requests.
   */
  hold(struck: InjectedFault | null, path: string, asksModel: boolean): Promise<Recovery> | null {
    const holder = this.#armed.find(
      (armed) =>
        armed.fault.recovery !== undefined &&
        armed.fault.kind === 'hang' &&
        this.#isOpen(armed) &&
        (armed.fault === struck || (isTotal(armed.fault) && matches(armed.fault, path, asksModel))),
    )
    if (!holder) return null
    const end = holder.fault.recovery ?? 'answer'
    return new Promise((resolve) => {
      if (holder.held.size === 0 && Number.isFinite(holder.until)) {
        holder.cancel = this.#clock.after(holder.until - this.#clock.now(), () => free(holder))
      }
      holder.held.add(() => resolve(end))
    })
  }

  /** Whether nothing that runs on the server goes on. */
  get isHanging(): boolean {
    return this.#armed.some(
      (armed) =>
        armed.fault.kind === 'hang' &&
        armed.fault.recovery !== undefined &&
        armed.fault.path === undefined &&
        isTotal(armed.fault) &&
        this.#isOpen(armed),
    )
  }

  #isOpen({ from, until }: Armed): boolean {
    const now = this.#clock.now()
    return now >= from && now < until
  }
}

function free(armed: Armed): void {
  armed.cancel()
  const held = [...armed.held]
  armed.held.clear()
  for (const tell of held) tell()
}

const isTotal = ({ rate, next, skip }: InjectedFault): boolean =>
  rate === undefined && next === undefined && skip === undefined

const matches = ({ path }: InjectedFault, asked: string, asksModel: boolean): boolean =>
  path === undefined ? asksModel : asked.startsWith(path)
