import type { InstanceSnapshot, ModelSnapshot } from '../models/models.ts'
import type { Plan } from '../plan/plan.ts'
import type { Runtime } from './runtime.ts'

/** One instance of a model, by its address. */
export interface Suspect {
  readonly model: string
  readonly instance: string
}

/** Instances of these plans' models that fail their canaries. */
export function suspectsOf({ models }: Runtime, plans: Iterable<Plan>): readonly Suspect[] {
  return neededBy(plans, models.snapshot()).flatMap(({ name, instances }) =>
    instances
      .filter(({ state }) => state === 'fails-canary')
      .map(({ address }) => ({ model: name, instance: address })),
  )
}

/** What is needed before every plan can be scored, in words: models without a living instance. */
export const missingModels = (serving: Runtime): readonly string[] =>
  withoutInstance(serving).map(({ name }) => `model '${name}' has no instance that answers`)

/**
 * Whether requests had better come here: each model has a living instance, or had one and its questions wait for the next.
 * Where a judge restarts, it is away for every gateway at once: one that says no would only lose the requests that it can hold.
 */
export const isReady = (serving: Runtime): boolean =>
  withoutInstance(serving).every(({ isPatient }) => isPatient)

function withoutInstance({ plans, models }: Runtime): readonly ModelSnapshot[] {
  return neededBy(plans.values(), models.snapshot()).filter(({ instances }) => !instances.some(isUsable))
}

function neededBy(plans: Iterable<Plan>, models: readonly ModelSnapshot[]): readonly ModelSnapshot[] {
  const needed = new Set([...plans].flatMap(({ steps }) => steps.flatMap((step) => step.models)))
  return models.filter(({ name }) => needed.has(name))
}

/** A sleeping instance wakes when it is needed. */
const isUsable = ({ state }: InstanceSnapshot): boolean => state === 'ready' || state === 'asleep'
