import type { Server } from 'node:http'
import type { SimulatedModel } from './model.ts'
import type { Restart } from './options.ts'

/** `dead` ends only with a restart. */
export type ProcessState = 'loading' | 'ready' | 'down' | 'dead'

/**
 * The process of a simulated server: whether its port listens, and what happens to open requests when it
 * ends.
 */
export class SimulatedProcess {
  state: ProcessState = 'ready'
  readonly #model: SimulatedModel
  readonly #server: Server
  readonly #open: ReadonlySet<AbortController>
  readonly #at: { readonly port: number; readonly host: string }
  #closed: Promise<void> | null = null
  #isOver = false
  #cancel = (): void => {}

  /** `server` already listens. `open` are the requests in flight. */
  constructor(
    model: SimulatedModel,
    server: Server,
    open: ReadonlySet<AbortController>,
    at: { readonly port: number; readonly host: string },
  ) {
    this.#model = model
    this.#server = server
    this.#open = open
    this.#at = at
    model.onDeath = () => this.#stop('dead')
  }

  /** Ends like kill -9: cuts connections and refuses new ones until a restart. */
  kill(reason: string): void {
    if (this.state === 'dead' || this.#isOver) return
    this.#model.diedOf = reason
    this.#stop('dead')
  }

  /** Ends the same way and comes back without memory. Cancels a restart in progress. */
  restart({ downMs = 0, loadingMs = 0 }: Restart): void {
    if (this.#isOver) return
    this.#stop('down')
    const closed = this.#closed
    this.#cancel = this.#model.clock.after(downMs, () => {
      void closed?.then(() => this.#listen(loadingMs))
    })
  }

  /** Ends permanently. Safe to call twice. */
  close(): Promise<void> {
    this.#isOver = true
    this.#stop('down')
    return this.#closed ?? Promise.resolve()
  }

  #stop(state: ProcessState): void {
    this.#cancel()
    this.state = state
    for (const one of this.#open) one.abort(cut)
    this.#closed ??= new Promise((resolve) => this.#server.close(() => resolve()))
    this.#server.closeAllConnections()
  }

  #listen(loadingMs: number): void {
    if (this.#isOver || this.state !== 'down') return
    this.#closed = null
    this.#model.reset()
    this.state = 'loading'
    this.#server.listen(this.#at.port, this.#at.host)
    if (loadingMs > 0) this.#cancel = this.#model.clock.after(loadingMs, () => this.#ready())
    else this.#ready()
  }

  #ready(): void {
    this.state = 'ready'
  }
}

/** A string, because an abort without a reason creates an error with a stack for each request. */
const cut = 'the server has ended'
