import { GatewayError } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { AskError } from './api/ask.ts'
import type { ModelConfig } from './api/model-config.ts'
import { countTokens } from './count-tokens.ts'
import { askError } from './dispatch/ask-error.ts'
import { forward } from './forward.ts'
import type { Models } from './models.ts'
import { type OpenModel, openModel, type Shared } from './open-model.ts'
import { snapshotOf } from './snapshot.ts'

/** An open model, and how many readings of the configs use it. */
interface SharedModel {
  readonly open: OpenModel
  users: number
}

/** The models of one reading of the configs after the other: a reload shares what stays the same with what drains. */
export class ModelRegistry {
  readonly #shared: Shared
  #alive = 0

  constructor(shared: Shared) {
    this.#shared = shared
  }

  /** The models of these configs; `before` are those of an earlier reading that is still open. */
  open(configs: Readonly<Record<string, ModelConfig>>, before: ReadonlyMap<string, SharedModel>): Models {
    const own = new Map<string, SharedModel>()
    this.#alive += 1
    try {
      for (const [name, config] of Object.entries(configs)) {
        const known = before.get(name)
        const isSame = known && JSON.stringify(known.open.config) === JSON.stringify(config)
        const held = isSame ? known : { open: openModel(name, config, this.#shared, known?.open), users: 0 }
        held.users += 1
        own.set(name, held)
      }
    } catch (error) {
      void this.#close(own)
      throw error
    }
    let closing: Promise<void> | null = null
    return {
      ...asked(own),
      next: (later) => {
        this.#shared.tenants.retry()
        return this.open(later, own)
      },
      close: () => {
        closing ??= this.#close(own)
        return closing
      },
    }
  }

  async #close(own: ReadonlyMap<string, SharedModel>): Promise<void> {
    this.#alive -= 1
    const isLast = this.#alive === 0
    const retired: Promise<void>[] = []
    for (const held of own.values()) {
      held.users -= 1
      if (held.users > 0) continue
      if (isLast) held.open.close()
      else retired.push(held.open.retire())
    }
    await Promise.all(retired)
    if (!isLast) return
    this.#shared.tenants.end()
    await this.#shared.registry.close()
  }
}

/** What can be asked of open models, by their names. */
function asked(own: ReadonlyMap<string, SharedModel>): Omit<Models, 'next' | 'close'> {
  const named = (name: string): OpenModel => {
    const found = own.get(name)
    if (found) return found.open
    throw new GatewayError('RG_NOT_FOUND', `there is no model '${name}'${didYouMean(name, own.keys())}`)
  }
  const switched = async (name: string, to: 'sleep' | 'wake'): Promise<void> => {
    const { config, model } = named(name)
    const { seat, backend } = model.parts
    if ((!config.lifecycle && !config.gpu_group) || !backend.memory)
      throw new GatewayError('RG_REQUEST_INVALID', `the model '${name}' has no lifecycle in its config`)
    if (await seat[to]()) return
    const what =
      to === 'sleep' ? `not every instance of '${name}' fell asleep` : `no instance of '${name}' woke up`
    const why = seat.failure === '' ? '' : `: ${seat.failure}`
    throw new GatewayError('RG_MODEL_FAILED', `${what}${why}`)
  }
  return {
    get names() {
      return [...own.keys()]
    },
    ask(request) {
      const found = own.get(request.model)
      if (found) return found.open.model.ask(request)
      const failure = { kind: 'judge_rejected', retryable: false, detail: 'there is no such model' } as const
      return Promise.reject(new AskError(failure))
    },
    line: (model) => named(model).model.line,
    isParked: (model) => named(model).model.isParked,
    enoughMs: (model, ahead, more) => named(model).model.enoughMs(ahead, more),
    countTokens: async (model, input, patience) => countTokens(named(model).model, input, patience),
    async forward(model, request) {
      const found = named(model).model
      try {
        return await forward(found, request)
      } catch (error) {
        throw askError(error)
      }
    },
    addInstance(model, place) {
      named(model).membership.add(place)
    },
    drainInstance: async (model, address) => named(model).membership.drain(address),
    removeInstance: async (model, address) => named(model).membership.remove(address),
    suspect: (model, address, reason) => named(model).membership.suspect(address, reason),
    sleep: (model) => switched(model, 'sleep'),
    wake: (model) => switched(model, 'wake'),
    snapshot: () => [...own.values()].map(({ open }) => snapshotOf(open.model)),
  }
}
