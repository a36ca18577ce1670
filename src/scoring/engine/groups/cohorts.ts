/**
 * Groups whose members come in requests of their own, to one reading of the configs or to several that say the same. An index that answers anew begins the next generation of its
 * group, the next epoch over the same prompt. The same answer again is a retry, or the next epoch's: a trainer that still
 * waits for an answer, or has a reward for it, does not send it again.
 */
import { hash } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import type { Sample } from '../../../core/sample/sample.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { CrossRequestGroups, Joining } from '../context.ts'
import { Cohort, type CohortRun, Place } from './cohort.ts'
import { incomplete } from './group.ts'

/** Finished groups whose terms are kept for retries, for as long as a group is waited for. */
const mostKept = 1024

/** `run` makes the terms of one group's members, in their order; each member's request gets its own. */
export function openCohorts(clock: Clock, run: CohortRun): CrossRequestGroups {
  /** By what a group is known by: its generations, oldest first. */
  const generations = new Map<string, Cohort[]>()
  /** With their key and the time of their end, oldest first. */
  const finished = new Map<Cohort, { readonly key: string; readonly at: number }>()
  /** The places that a sample waits for, or waited for. */
  const places = new WeakMap<Sample, Place[]>()

  const forget = (key: string, cohort: Cohort): void => {
    finished.delete(cohort)
    const left = (generations.get(key) ?? []).filter((one) => one !== cohort)
    if (left.length > 0) generations.set(key, left)
    else generations.delete(key)
  }
  const open = (key: string, waitMs: number, least: number): Cohort => {
    const made = new Cohort(run)
    generations.set(key, [...(generations.get(key) ?? []), made])
    made.onStart(clock.after(waitMs, () => made.start(least)))
    void made.ended.then((hasTerms) => {
      if (!hasTerms) return forget(key, made)
      finished.set(made, { key, at: clock.now() })
      const [oldest] = finished
      if (finished.size > mostKept && oldest) forget(oldest[1].key, oldest[0])
    })
    return made
  }
  const known = (key: string, waitMs: number): readonly Cohort[] => {
    for (const cohort of generations.get(key) ?? []) {
      const end = finished.get(cohort)
      if (end && clock.now() - end.at > waitMs) forget(key, cohort)
    }
    return (generations.get(key) ?? []).filter(({ isAbandoned }) => !isAbandoned)
  }
  const take = (place: Place, sample: Sample): void => {
    place.live += 1
    places.set(sample, [...(places.get(sample) ?? []), place])
  }

  return {
    async join(step, joining, { size, least, waitMs }) {
      const key = keyOf(step, joining)
      const name = nameOf(joining.sample)
      const answer = hash('sha256', joining.sample.response)
      const cohorts = known(key, waitMs)
      const namesEpoch = joining.context.job.trainingStep !== undefined
      const same = cohorts.filter((cohort) => cohort.places.get(name)?.answer === answer)
      const retried = same.find((cohort) => namesEpoch || cohort.places.get(name)?.isMissed)
      const repeated = same.at(-1)?.places.get(name)
      const cohort = retried ?? nextOf(cohorts, name, namesEpoch) ?? open(key, waitMs, least)
      if (cohort === incomplete) return incomplete
      const place = (retried && cohort.places.get(name)) || new Place(answer, repeated?.given ?? null)
      take(place, joining.sample)
      cohort.add(name, place, { ...joining, step })
      if (cohort.places.size >= size) cohort.start(least)
      return place.given
    },
    concluded(sample, isValid) {
      for (const place of places.get(sample) ?? []) {
        place.live -= 1
        place.isRewarded ||= isValid
      }
      places.delete(sample)
    },
  }
}

/**
 * The generation that a new answer of this name belongs to: the first open one after its last answer, or that one where
 * the place is held for a repeat; null: none is there. With a training step, an open group has one answer a name.
 */
function nextOf(
  cohorts: readonly Cohort[],
  name: string,
  namesEpoch: boolean,
): Cohort | typeof incomplete | null {
  const last = cohorts.findLastIndex(({ places }) => places.has(name))
  const cohort = cohorts[last]
  if (cohort && !cohort.isOver) {
    if (cohort.places.get(name)?.earlier) return cohort
    if (namesEpoch) return incomplete
  }
  return cohorts.slice(last + 1).find(({ isOver }) => !isOver) ?? null
}

function keyOf({ name }: PlanStep, { context, sample }: Joining): string {
  const { plan, run = '', trainingStep = null } = context.job
  const { prompt, group } = sample
  const parts = [plan.name, plan.version, run, trainingStep, name, group?.id, prompt]
  return hash('sha256', JSON.stringify(parts))
}

const nameOf = ({ id, group }: Sample): string =>
  group?.index === undefined ? `id ${id}` : `#${group.index}`
