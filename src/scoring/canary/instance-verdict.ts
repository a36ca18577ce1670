import type { Probed } from '../engine/judge/probe.ts'
import type { Probe } from './probes.ts'

/** How one probe went. `no_call` and `failed` say nothing about the instance's judgement. */
export type ProbeResult = 'passed' | 'wrong' | 'unreadable' | 'no_call' | 'failed'

/** Both ends of the probe's range pass. */
export function resultOf({ min, max }: Probe, probed: Probed): ProbeResult {
  if (probed.status !== 'verdict') return probed.status
  return probed.value >= min && probed.value <= max ? 'passed' : 'wrong'
}

/** When an instance is taken out. */
export interface Tolerance {
  /** Rounds in a row with a wrong verdict. */
  readonly wrongRounds: number
  /** Share of the last answers without a verdict that is borne. */
  readonly maxUnreadable: number
}

/** Answers that the share of unreadable ones is taken of, and the least that it needs. */
const answers = { most: 20, least: 5 }

/** What the probes say about one instance of one model. */
export class InstanceVerdict {
  #isSuspect: boolean
  #wrongRounds = 0
  #unreadable: boolean[] = []

  constructor(isSuspect: boolean) {
    this.#isSuspect = isSuspect
  }

  /** A round's results; what changed by them: a reason to doubt the instance, or (null) that it is trusted again. */
  push(round: readonly ProbeResult[], tolerance: Tolerance): { readonly reason: string | null } | null {
    const said = round.filter((result) => result !== 'no_call' && result !== 'failed')
    if (said.length === 0) return null
    const wrong = said.filter((result) => result === 'wrong').length
    this.#wrongRounds = wrong > 0 ? this.#wrongRounds + 1 : 0
    this.#unreadable = [...this.#unreadable, ...said.map((result) => result === 'unreadable')].slice(
      -answers.most,
    )
    if (this.#isSuspect) return said.every((result) => result === 'passed') ? this.#trusted() : null
    const unreadable = this.#unreadable.filter(Boolean).length
    const { length } = this.#unreadable
    if (this.#wrongRounds >= tolerance.wrongRounds)
      return this.#doubted(`it judges ${wrong} of ${said.length} known answers wrongly`)
    if (length >= answers.least && unreadable / length > tolerance.maxUnreadable)
      return this.#doubted(`${unreadable} of its last ${length} answers to known questions hold no verdict`)
    return null
  }

  /** The last round was not clean, and says nothing certain yet: the next one should come soon. */
  get isDoubtful(): boolean {
    return !this.#isSuspect && (this.#wrongRounds > 0 || this.#unreadable.slice(-3).includes(true))
  }

  #doubted(reason: string): { readonly reason: string } {
    this.#isSuspect = true
    return { reason }
  }

  #trusted(): { readonly reason: null } {
    this.#isSuspect = false
    this.#unreadable = []
    return { reason: null }
  }
}
