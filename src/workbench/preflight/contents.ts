/** What rows hold besides texts, and what each step of the reward would not see of it. */
import { isBlank, type Message, promptText, type Sample } from '../../core/sample/sample.ts'
import { ignoredFlags, unseenContent } from '../../scoring/engine/unseen-content.ts'
import { type Findings, withoutPlace } from './finding.ts'
import type { OpenedReward } from './opened-reward.ts'
import type { Item } from './row-checks.ts'

const toolRoles: readonly string[] = ['tool', 'function', 'ipython']

/** Counts rows by what they hold, and finds what a step does not see or reads otherwise than versions before. */
export class ContentCheck {
  readonly #reward: OpenedReward
  readonly #findings: Findings
  readonly #counts = new Map<string, number>()

  constructor(opened: OpenedReward, findings: Findings) {
    this.#reward = opened
    this.#findings = findings
  }

  /** The number of rows by what they hold: `rollouts`, `tool turns`, `image`, or the type of a part. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  async look(items: readonly Item[], signal: AbortSignal): Promise<void> {
    for (const item of items) {
      for (const what of contentsOf(item)) this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1)
      this.#lookAtSteps(item)
    }
    await this.#lookAtEarlierTurns(items, signal)
  }

  #lookAtSteps({ sample: text, rollout, place }: Item): void {
    const sample = rollout ?? text
    const { formula } = this.#reward.plan
    for (const name of rollout ? (formula?.environment ?? []) : [])
      if (!Object.hasOwn(sample.environment ?? {}, name))
        this.#findings.add('environment-missing', `the formula reads environment.${name}`, place)
    for (const step of this.#reward.plan.steps) {
      if (step.dataSource !== null && !step.dataSource.matches(sample.dataSource)) continue
      const failure = unseenContent(step, sample)
      if (failure)
        this.#findings.add('unseen-content', `step ${step.name}: ${withoutPlace(failure.detail)}`, place)
      for (const flag of ignoredFlags(step, sample))
        this.#findings.add('ignored-content', `step ${step.name}: ${flag}`, place)
    }
  }

  /** Rules once read all turns joined. Rows on which that pays something else are reported. */
  async #lookAtEarlierTurns(items: readonly Item[], signal: AbortSignal): Promise<void> {
    const { rules } = this.#reward
    const several = items.flatMap(({ rollout, place }) =>
      rollout && hasSeveralTexts(rollout) ? [{ rollout, place }] : [],
    )
    if (!rules || several.length === 0) return
    const rows = several.flatMap(({ rollout }, at) => {
      const { turns = [], ...text } = rollout
      return [
        { ...rollout, id: `${at} turns`, group: { id: `${at} turns` } },
        { ...text, id: `${at} joined`, group: { id: `${at} joined` }, response: promptText(turns) },
      ]
    })
    const outcomes = await this.#reward.score(rules, rows, signal)
    signal.throwIfAborted()
    for (const [at, { place }] of several.entries()) {
      const [now, before] = [outcomes[2 * at], outcomes[2 * at + 1]]
      if (!now?.valid || !before?.valid || now.reward === before.reward) continue
      const message = `the rules pay ${now.reward} for the rollout, and ${before.reward} for its turns joined to one text`
      this.#findings.add('earlier-turns', message, place)
    }
  }
}

/** Whether the last turn is not all of the rollout's text. Results of tools count. */
export const hasSeveralTexts = ({ turns = [] }: Sample): boolean =>
  turns.filter(({ content }) => !isBlank(content)).length > 1

function contentsOf({ sample, rollout }: Item): ReadonlySet<string> {
  const found = new Set<string>()
  if (rollout) found.add('rollouts')
  const prompt: readonly Message[] = typeof sample.prompt === 'string' ? [] : sample.prompt
  for (const { role, toolCalls, parts = [] } of [...prompt, ...(rollout?.turns ?? [])]) {
    if (toolCalls || toolRoles.includes(role)) found.add('tool turns')
    for (const part of parts)
      if (part.type !== 'text') found.add(part.type === 'other' ? part.name.slice(0, 60) : part.type)
  }
  return found
}
