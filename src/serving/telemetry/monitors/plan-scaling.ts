import type { RequestDone } from '../../../scoring/engine/events.ts'

type Plan = RequestDone['plan']
type Range = readonly [number, number]

/** A step whose score is a decision: over the middle of its range or not. */
export interface Decider {
  /** Its place among the terms. */
  readonly at: number
  /** The score in shares of its range, 0 to 1. */
  share(score: number): number
}

/** How a plan's outcomes are looked at. */
export interface PlanScaling {
  /** A reward in shares of the reward's range, 0 to 1; as it is, where the range is not known or not finite. */
  share(reward: number): number
  /** The first rule: what the run's accuracy is read from. */
  readonly rule: Decider | null
  readonly ruleName: string | null
  /** Model steps with a finite range. */
  readonly judges: readonly Decider[]
  /** Pairs of judges that are asked the same question. */
  readonly peers: readonly (readonly [Decider, Decider])[]
  /** Steps that ask models for verdicts. */
  readonly asked: ReadonlySet<string>
  /** Width of each step's range, by its name; 1 where it is not finite. */
  readonly widths: ReadonlyMap<string, number>
}

/** `range`: what the reward of the plan lies in; null: not known. */
export function scalingOf({ steps }: Plan, range: Range | null): PlanScaling {
  const deciders = steps.flatMap((step, at) => {
    const { kind, ask, critique, function: fn } = step
    if (critique || !isBounded(fn.range)) return []
    return [{ at, share: shareOf(fn.range), name: step.name, function: fn.name, isJudge: ask !== null, kind }]
  })
  const judges = deciders.filter(({ isJudge }) => isJudge)
  const rule = deciders.find(({ isJudge }) => !isJudge) ?? null
  return {
    share: range && isBounded(range) ? shareOf(range) : (reward) => reward,
    rule,
    ruleName: rule?.name ?? null,
    judges,
    peers: judges.flatMap((one, index) =>
      judges
        .slice(index + 1)
        .filter((other) => other.function === one.function)
        .map((other) => [one, other] as const),
    ),
    asked: new Set(steps.flatMap(({ name, ask, critique }) => (ask !== null && !critique ? [name] : []))),
    widths: new Map(
      steps.map(({ name, function: { range } }) => [name, isBounded(range) ? range[1] - range[0] : 1]),
    ),
  }
}

const isBounded = ([low, high]: Range): boolean => Number.isFinite(low) && Number.isFinite(high) && high > low

const shareOf =
  ([low, high]: Range) =>
  (value: number): number =>
    (value - low) / (high - low)
