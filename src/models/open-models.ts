import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { answerCache } from './answer-cache.ts'
import { askError } from './ask-error.ts'
import { countTokens } from './count-tokens.ts'
import type { ModelEvents } from './events.ts'
import { forward } from './forward.ts'
import { GpuGroup } from './gpu-group.ts'
import type { ModelConfig } from './model-config.ts'
import { AskError, type Models } from './models.ts'
import { type OpenModel, openModel, type Shared } from './open-model.ts'
import { Registry } from './registry.ts'
import { snapshotOf } from './snapshot.ts'

/** What all models of a process share. */
export interface ModelsOptions {
  readonly clock: Clock
  readonly events?: ModelEvents
  /** Uniform in [0, 1); for tests. */
  readonly random?: () => number
  /** Kept answers of all models together. */
  readonly cache?: { readonly bytes: number; readonly ttlMs: number }
  /** Where api_key_env is looked up. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

const defaultCache = { bytes: 64 * 1024 * 1024, ttlMs: 3_600_000 }

/** Opens the pools of all models by global name. Probes start at once; nothing is waited for. */
export function openModels(configs: Readonly<Record<string, ModelConfig>>, options: ModelsOptions): Models {
  const { clock, events = {}, random = Math.random, env = {} } = options
  const registry = new Registry(clock, events)
  const groups = new Map<string, GpuGroup>()
  const shared: Shared = {
    clock,
    events,
    random,
    env,
    registry,
    cache: answerCache(clock, options.cache ?? defaultCache),
    groupOf(name) {
      const known = groups.get(name)
      if (known) return known
      const made = new GpuGroup(clock, (model, state) => events.switched?.({ model, state }))
      groups.set(name, made)
      return made
    },
  }
  let open = new Map(Object.entries(configs).map(([name, config]) => [name, openModel(name, config, shared)]))

  const named = (name: string): OpenModel => {
    const found = open.get(name)
    if (!found) throw new GatewayError('RG_NOT_FOUND', `there is no model '${name}'`)
    return found
  }

  /** One of the config's own words for what to do with its memory. */
  const switched = async (name: string, to: 'sleep' | 'wake'): Promise<void> => {
    const { seat, backend } = named(name).model.parts
    if (!seat || !backend.memory)
      throw new GatewayError('RG_REQUEST_INVALID', `the model '${name}' has no lifecycle in its config`)
    if (!(await seat[to]())) throw new GatewayError('RG_INTERNAL', `the instances of '${name}' did not ${to}`)
  }

  return {
    get names() {
      return [...open.keys()]
    },
    async ask(request) {
      const found = open.get(request.model)
      if (found) return found.model.ask(request)
      throw new AskError({ kind: 'judge_rejected', retryable: false, detail: 'there is no such model' })
    },
    countTokens: async (model, input) => countTokens(named(model).model, input),
    async forward(model, request) {
      const found = named(model).model
      try {
        return await forward(found, request)
      } catch (error) {
        throw askError(error)
      }
    },
    addInstance(model, address) {
      named(model).membership.add(address)
    },
    drainInstance: async (model, address) => named(model).membership.drain(address),
    removeInstance: async (model, address) => named(model).membership.remove(address),
    sleep: (model) => switched(model, 'sleep'),
    wake: (model) => switched(model, 'wake'),
    replace(next) {
      const kept = new Map<string, OpenModel>()
      for (const [name, config] of Object.entries(next)) {
        const known = open.get(name)
        const isSame = known && JSON.stringify(known.config) === JSON.stringify(config)
        kept.set(name, known && isSame ? known : openModel(name, config, shared))
      }
      for (const [name, known] of open) {
        if (kept.get(name) === known) continue
        known.end()
        void known.membership.retire()
      }
      open = kept
    },
    snapshot: () => [...open.values()].map(({ model }) => snapshotOf(model)),
    async close() {
      for (const group of groups.values()) group.end()
      for (const { model, membership, end } of open.values()) {
        end()
        membership.end()
        model.stop()
        model.parts.dispatcher.pool.close()
        model.parts.dispatcher.hedge?.end()
      }
      await registry.close()
    },
  }
}
