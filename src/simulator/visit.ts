import type { InjectedFault } from './faults.ts'
import { Gone, type SimulatedModel } from './model.ts'

/** One request's stay: what it is held by, and when the model learns that its client has gone. */
export class Visit {
  /** Aborts when nobody wants the answer any more. */
  readonly work = new AbortController()
  /** The server looks for the client only now and then, as SGLang does. */
  isSlowlyMissed = false
  readonly #model: SimulatedModel
  readonly #since: number
  #cancel = (): void => {}
  #isOver = false

  constructor(model: SimulatedModel) {
    this.#model = model
    this.#since = model.clock.now()
  }

  /** The connection is closed: the work ends at once, or at the server's next look. */
  clientLeaves(): void {
    if (this.#isOver) return
    if (!this.isSlowlyMissed) {
      this.work.abort(left)
      return
    }
    const { clock, sglang } = this.#model
    const every = sglang.flags.clientCheckMs
    const wait = every - ((clock.now() - this.#since) % every)
    this.#cancel = clock.after(wait, () => this.work.abort(left))
  }

  /** Null unless a hang holds the answer; resolves when none does any more, throws Gone where the answer is dropped. */
  held(fault: InjectedFault | null, path: string, asksModel: boolean): Promise<void> | null {
    const hold = this.#model.faults.hold(fault, path, asksModel)
    if (!hold) return null
    return hold.then((end) => {
      if (end === 'answer') return this.held(fault, path, asksModel) ?? undefined
      this.work.abort(left)
      throw new Gone()
    })
  }

  end(): void {
    this.#isOver = true
    this.#cancel()
  }
}

/** A text, because an abort without a reason makes an error with a stack for each request. */
const left = 'the client has left'
