import { type Outcome, promptText, type Sample } from '../../core/sample/sample.ts'
import { extent } from '../../core/statistics/summary.ts'
import { subjectOf } from '../audit/attack.ts'
import { testTexts } from '../audit/catalogue/programs.ts'
import { asResponse, ignorance } from '../dataset/samples.ts'
import type { Findings } from './finding.ts'
import type { OpenedReward } from './opened-reward.ts'
import type { Item } from './row-checks.ts'

/** A reward and how many right answers of a data source earn it. */
export interface Level {
  readonly reward: number
  readonly rows: number
}

interface Asked {
  readonly item: Item
  readonly what: 'gold' | 'near' | 'made' | 'nothing' | 'empty'
  readonly sample: Sample
}

interface Tally {
  count: number
  /** The first affected rows. */
  readonly rows: string[]
  /** Rows whose right answer earns the same with another value. */
  readonly made: string[]
  readonly reason: string | null
}

const rounding = 1e-9
const shownRows = 10
/** A test of this length does not occur in a prompt by chance. */
const tellingLength = 4

/**
 * Scores known answers with the rules. Right answers must earn most, wrong ones less, and no row may be
 * rejected.
 */
export class TruthCheck {
  readonly #reward: OpenedReward
  readonly #findings: Findings
  readonly #levels = new Map<string, Map<number, Tally>>()
  #withoutGold = 0

  constructor(opened: OpenedReward, findings: Findings) {
    this.#reward = opened
    this.#findings = findings
  }

  async look(items: readonly Item[], signal: AbortSignal): Promise<void> {
    const { rules } = this.#reward
    this.#withoutGold += items.filter(({ gold }) => gold === null).length
    if (!rules) return
    const scored = items.filter(({ sample }) =>
      rules.steps.some(({ dataSource }) => dataSource === null || dataSource.matches(sample.dataSource)),
    )
    const runs = rules.steps.filter(({ kind }) => kind === 'program')
    const asked = scored.flatMap((item) => {
      const { dataSource } = item.sample
      const runsProgram = runs.some((step) => step.dataSource === null || step.dataSource.matches(dataSource))
      return questionsOf(item, runsProgram, (text) => asResponse(text, runs, dataSource))
    })
    const outcomes = await this.#reward.score(
      rules,
      asked.map(({ sample }) => sample),
      signal,
    )
    signal.throwIfAborted()
    for (const item of scored) {
      const own = asked.flatMap((one, at) =>
        one.item === item ? [[one.what, outcomes[at] as Outcome] as const] : [],
      )
      this.#judge(item, own)
    }
  }

  #judge(item: Item, own: readonly (readonly [Asked['what'], Outcome])[]): void {
    const { place, gold, sample } = item
    const [, right] = own[0] ?? []
    if (!right || this.#isRefused(item, right) || !right.valid) return
    const { reward } = right
    this.#lookAtTests(item, right, own)
    if (gold === null) return
    const paid = (what: Asked['what']): boolean =>
      own.some(([kind, outcome]) => kind === what && outcome.valid && outcome.reward >= reward - rounding)
    if (paid('nothing')) {
      const reason = reasonOf(right)
      this.#findings.add(
        'gold-not-paid',
        `the right answer earns nothing${reason ? ` (${reason})` : ''}`,
        place,
      )
      return
    }
    if (paid('near'))
      this.#findings.add('gold-not-above-near-miss', 'a wrong answer earns as much as the right one', place)
    this.#count(sample.dataSource ?? '(none)', right, place, paid('made'))
  }

  /** For rows whose tests run programs. */
  #lookAtTests(
    item: Item,
    { reward }: Outcome & { readonly valid: true },
    own: readonly (readonly [Asked['what'], Outcome])[],
  ): void {
    const { place, gold, sample } = item
    const earned = (what: Asked['what']): number | null => {
      const [, outcome] = own.find(([kind]) => kind === what) ?? []
      return outcome?.valid ? outcome.reward : null
    }
    const empty = earned('empty')
    if (empty === null) return
    const nothing = gold === null ? reward : (earned('nothing') ?? Number.NEGATIVE_INFINITY)
    if (empty > nothing + rounding && (gold === null || empty >= reward - rounding))
      this.#findings.add('empty-program-paid', 'an empty program passes the tests', place)
    const texts = testTexts(sample.groundTruth).map((text) => text.trim())
    const prompt = promptText(sample.prompt)
    const shown = texts.filter((text) => text.length >= tellingLength && prompt.includes(text))
    if (shown.length > 0) {
      const which = shown.length === texts.length ? 'all tests stand' : 'some tests stand'
      this.#findings.add('tests-in-prompt', `${which} in the prompt`, place)
    }
  }

  #isRefused({ place, sample, gold }: Item, outcome: Outcome): boolean {
    const bad = outcome.flags.find((flag) => flag.includes('bad_'))
    const isRefused = !outcome.valid || bad !== undefined
    if (isRefused && sample.groundTruth === null) {
      this.#findings.add(
        'missing-column',
        'ground_truth (reward_model.ground_truth): the reward needs it',
        place,
      )
      return true
    }
    if (!outcome.valid) {
      const { kind, step, detail } = outcome.failure
      // Reported with what else the rows hold.
      if (kind === 'unseen_content') return true
      const where = step ? `step ${step}: ` : ''
      this.#findings.add(kind === 'bad_sample' ? 'refused-truth' : 'failing-rule', where + detail, place)
      return true
    }
    if (bad)
      this.#findings.add('ungradable-row', `${bad}: ${reasonOf(outcome) ?? 'no reason is given'}`, place)
    else
      for (const flag of outcome.flags) {
        const [step, mark] = flag.split(':')
        if (mark === 'truth_from_text')
          this.#findings.add(
            'truth-from-text',
            `step ${step}: the ground truth is parsed from its JSON text`,
            place,
          )
        else if (mark === 'time_limit')
          this.#findings.add('slow-reference', `step ${step}: a test ran out of time`, place)
        else if (mark === 'weak_tests')
          this.#findings.add('weak-tests', `step ${step}: tests share the process of the program`, place)
        else if (mark !== 'no_code' || gold !== null) this.#findings.add('flagged-row', flag, place)
      }
    return bad !== undefined
  }

  #count(
    source: string,
    outcome: Outcome & { readonly valid: true },
    place: string,
    isMadePaid: boolean,
  ): void {
    const levels = this.#levels.get(source) ?? new Map<number, Tally>()
    this.#levels.set(source, levels)
    const reward = Number(outcome.reward.toFixed(9))
    const level: Tally = levels.get(reward) ?? { count: 0, rows: [], made: [], reason: reasonOf(outcome) }
    level.count++
    if (level.rows.length < shownRows) level.rows.push(place)
    if (isMadePaid) level.made.push(place)
    levels.set(reward, level)
  }

  /** By data source, the highest reward first. */
  end(): Readonly<Record<string, readonly Level[]>> {
    const { rules } = this.#reward
    if (this.#withoutGold > 0 && rules) {
      this.#findings.addMany('no-gold', 'rows without a right answer: only their ground truth was tried', {
        rows: [],
        count: this.#withoutGold,
      })
    }
    for (const [source, levels] of this.#levels) {
      const [, best] = extent(levels.keys())
      const made = levels.get(best)?.made ?? []
      if (made.length > 0)
        this.#findings.add(
          'made-near-miss-paid',
          'the right answer with another value earns as much',
          ...made,
        )
      for (const [reward, { count, rows, reason }] of levels) {
        if (reward === best) continue
        const why = reason ? ` (${reason})` : ''
        const message = `right answers of ${source} earn ${reward}${why}, others ${best}`
        this.#findings.addMany('gold-below-best', message, { rows, count })
      }
    }
    return Object.fromEntries(
      [...this.#levels].map(([source, levels]) => [
        source,
        [...levels]
          .map(([reward, { count }]) => ({ reward, rows: count }))
          .sort((a, b) => b.reward - a.reward),
      ]),
    )
  }
}

/**
 * The right answer comes first. Each text is its own group, so that answers are not compared with each other.
 */
function questionsOf(
  item: Item,
  runsProgram: boolean,
  written: (answer: string) => string,
): readonly Asked[] {
  const { sample, rollout, gold, nearMisses } = item
  const made = gold !== null && nearMisses.length === 0 ? subjectOf({ sample, nearMisses: [] }).near : null
  const texts: readonly (readonly [Asked['what'], string])[] = [
    ['gold', gold === null ? ignorance : written(gold)],
    ...(runsProgram ? ([['empty', written('pass')]] as const) : []),
    ...(gold === null ? [] : ([['nothing', ignorance]] as const)),
    ...nearMisses.map((text) => ['near', text] as const),
    ...(made === null ? [] : ([['made', made]] as const)),
  ]
  return texts.map(([what, response], at) => {
    const id = `${item.place}#${at}`
    // A right answer that is the end of a rollout is right with its turns.
    const own = what === 'gold' && rollout?.response === response ? rollout : { ...sample, response }
    return { item, what, sample: { ...own, id, group: { id } } }
  })
}

function reasonOf({ terms }: Outcome): string | null {
  for (const term of terms) {
    const reason = term.status === 'scored' ? term.score.details?.reason : undefined
    if (typeof reason === 'string') return reason
  }
  return null
}
