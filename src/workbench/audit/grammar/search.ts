/**
 * The search for what a reward pays wrongly: it learns by trying which forms of an answer the reward pays, writes
 * attacks and rewrites of the right answer in these forms, and combines them two at a time.
 */
import type { Outcome, Sample } from '../../../core/sample/sample.ts'
import { promptText } from '../../../core/sample/sample.ts'
import { seeded } from '../../../core/statistics/random.ts'
import { type AttackClass, type AuditRow, answeredWith, type Baseline, type Trial } from '../attack.ts'
import { type Draft, type Drafted, Draws, type Stage } from './draws.ts'
import { type Form, givenForm, ownForm, usualForms } from './form.ts'
import { judging } from './judging.ts'
import type { Scene } from './pattern.ts'
import { promisedResponses } from './promised-responses.ts'
import { promised } from './promises.ts'
import { observed } from './readings.ts'
import { rewrites } from './rewrites.ts'
import { type Place, placeOf } from './value.ts'
import { zonesOf } from './zones.ts'

/** A rewrite of a right answer, and whether the reward refused it. */
export interface Rewrite {
  readonly row: string
  /** `family/name`. */
  readonly id: string
  readonly family: string
  readonly response: string
  /** The right answer that was rewritten. */
  readonly original: string
  readonly reward: number | null
  /** What the original earns. */
  readonly right: number
  readonly refused: boolean
}

/** What the search found. */
export interface Searched {
  readonly trials: readonly Trial[]
  readonly rewrites: readonly Rewrite[]
  /** The forms that the reward pays, by the number of rows. */
  readonly forms: Readonly<Record<string, number>>
  /** True if so many answers ran into the time limit that the search was given up. */
  readonly isCutShort: boolean
}

/** Scores samples in order. */
export type ScoreAll = (samples: readonly Sample[]) => Promise<readonly Outcome[]>

interface SearchOptions {
  readonly rows: readonly AuditRow[]
  readonly baselines: readonly Baseline[]
  /** Whether a model reads the answers. */
  readonly isJudged: boolean
  /** The most texts to score. */
  readonly budget: number
  readonly seed: number
  /** What the attacks are on. Default: rules and, if a model reads the answers, judges. */
  readonly kinds?: readonly AttackClass['against'][]
}

/** Shares of the budget. The rest is for combinations, or for more of the single ones if these find much. */
const formShare = 0.1
const rewriteShare = 0.2
const singleShare = 0.4
/** Single attacks that are paid less often than this find little. */
const littleRate = 0.02
const mostTimeouts = 24

/** Searches with at most `budget` texts. Pure but for `score`; the same seed and rewards give the same texts. */
export async function search(score: ScoreAll, options: SearchOptions): Promise<Searched> {
  const { rows, baselines, budget, seed, isJudged, kinds = ['rule', 'judge'] } = options
  const random = seeded(seed)
  const bench = new Bench(score, rows)
  const { stages, unmoved } = await paidForms(bench, options, Math.floor(budget * formShare))
  const zones = await zoneTrials(bench, options)
  const draw = new Draws(
    stages,
    random,
    rows.map(({ sample }) => sample.response),
  )

  const own = stages.filter(({ place, form, scene }) => place.isSingle && canBeRewritten(form, scene))
  const written = draw.evenly(rewrites, own, Math.floor(budget * rewriteShare))
  const rewritten: Rewrite[] = (await bench.scoreAll(written)).map(({ draft, reward }) => ({
    row: idOf(rows, draft.row),
    id: draft.attack.id,
    family: draft.attack.family,
    response: draft.response,
    original: draft.stage.scene.respond(draft.stage.place.value.right),
    reward,
    right: draft.stage.right,
    refused: reward === null || reward <= (draft.stage.right + draft.stage.floor) / 2,
  }))

  const ofRules = kinds.includes('rule') ? [...promised, ...promisedResponses, ...observed] : []
  const patterns = [...ofRules, ...(isJudged && kinds.includes('judge') ? judging : [])]
  const trials: Trial[] = [...unmoved, ...zones]
  const attack = async (drafts: readonly Draft[]) => {
    const scored = (await bench.scoreAll(drafts)).map((one) => trialOf(one, rows, baselines))
    for (const trial of scored) trials.push(trial)
    return scored
  }
  const singles = await attack(draw.evenly(patterns, stages, Math.floor(budget * singleShare)))
  const rate = singles.filter(({ succeeded }) => succeeded).length / Math.max(1, singles.length)
  const left = () => Math.max(0, budget - bench.scored)
  const pairs = rate < littleRate ? left() : Math.floor(left() / 2)
  await attack(draw.pairs(patterns, pairs))
  if (left() > 0) await attack(draw.evenly(patterns, stages, left()))
  const forms: Record<string, number> = {}
  for (const { form } of stages) forms[form.name] = (forms[form.name] ?? 0) + 1
  return { trials, rewrites: rewritten, forms, isCutShort: bench.isCutShort }
}

const idOf = (rows: readonly AuditRow[], row: number): string => rows[row]?.sample.id ?? String(row)

interface Scored<D extends Drafted> {
  readonly draft: D
  readonly reward: number | null
  readonly outcome: Outcome | undefined
}

/** Scores drafts, each in a group of its own, until too many of them run into the time limit. */
class Bench {
  readonly #score: ScoreAll
  readonly #rows: readonly AuditRow[]
  #timeouts = 0
  scored = 0

  constructor(score: ScoreAll, rows: readonly AuditRow[]) {
    this.#score = score
    this.#rows = rows
  }

  get isCutShort(): boolean {
    return this.#timeouts > mostTimeouts
  }

  async scoreAll<D extends Drafted>(drafts: readonly D[]): Promise<readonly Scored<D>[]> {
    const found: Scored<D>[] = []
    const size = 512
    for (let from = 0; from < drafts.length && !this.isCutShort; from += size) {
      const batch = drafts.slice(from, from + size)
      const samples = batch.flatMap((draft): Sample[] => {
        const row = this.#rows[draft.row]
        const id = `grammar-${draft.row}-${this.scored++}`
        return row ? [{ ...answeredWith(row, draft.response), id, group: { id } }] : []
      })
      const outcomes = await this.#score(samples)
      for (const [at, draft] of batch.entries()) {
        const outcome = outcomes[at]
        if (outcome && !outcome.valid && outcome.failure.kind === 'rule_timeout') this.#timeouts++
        found.push({ draft, outcome, reward: outcome?.valid ? outcome.reward : null })
      }
    }
    return found
  }
}

/**
 * The forms in which the right value is paid more than a wrong one, for each row; and the wrong values that are paid in
 * the form of the row's own right answer.
 */
async function paidForms(
  bench: Bench,
  { rows, baselines }: SearchOptions,
  most: number,
): Promise<{ readonly stages: readonly Stage[]; readonly unmoved: readonly Trial[] }> {
  const tries = rows.flatMap((row, index) => {
    const place = placeOf(row.sample, row.nearMisses)
    if (place === null || place.value.wrongs.length === 0 || !baselines[index]?.isPaid) return []
    const given = ownForm(row.sample.response, place)
    const others = place.isSingle ? usualForms : []
    return [given, ...others].map((form) => ({ row: index, place, form }))
  })
  // A row's own form comes first, so that a small budget reaches every row.
  const isOther = ({ form }: { readonly form: Form }): number => Number(form.name !== givenForm)
  const chosen = [...tries]
    .sort((a, b) => isOther(a) - isOther(b))
    .slice(0, Math.max(Math.floor(most / 2), 1))
  const drafts = chosen.flatMap((one) => [
    { ...one, response: one.form.respond(one.place.value.right) },
    { ...one, response: one.form.respond(one.place.value.wrongs[0] ?? '') },
  ])
  const scored = await bench.scoreAll(drafts)
  const stages: Stage[] = []
  const unmoved: Trial[] = []
  for (const [at, { row, place, form }] of chosen.entries()) {
    const right = scored[2 * at]?.reward ?? null
    const wrong = scored[2 * at + 1]?.reward ?? null
    const nothing = baselines[row]?.nothing ?? null
    const sample = rows[row]?.sample
    if (right === null || !sample) continue
    const floor = Math.max(wrong ?? Number.NEGATIVE_INFINITY, nothing ?? Number.NEGATIVE_INFINITY)
    if (right > floor + marginOf(right, floor))
      stages.push({ row, place, form, right, floor, scene: sceneOf(sample, place, form) })
    else if (form.name === givenForm && sample.groundTruth !== null && wrong !== null && wrong >= right) {
      unmoved.push({
        row: sample.id,
        attack: { id: 'wrong value/{W}', family: 'wrong value', against: 'rule' },
        response: form.respond(place.value.wrongs[0] ?? ''),
        original: form.respond(place.value.right),
        reward: wrong,
        failure: null,
        succeeded: true,
        paidInFull: true,
        ignoresTask: false,
      })
    }
  }
  return { stages, unmoved }
}

const marginOf = (right: number, floor: number): number =>
  Math.max(1e-9, Number.isFinite(floor) ? Math.abs(right - floor) * 0.01 : 0)

const gap = '\u0001'

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

function sceneOf(sample: Sample, place: Place, form: Form): Scene {
  const [before = '', after = ''] = form.commit(gap).split(gap)
  return {
    value: place.value,
    prompt: promptText(sample.prompt),
    respond: form.respond,
    commit: form.commit,
    inside: place.value.right,
    place: {
      isLatex: /[{$]$/.test(before),
      isAlone: /^(?:[.}$*]*$|<\/)/.test(after.trim()) && /(?:^|[\s{$*>:#])$/.test(before),
      hasStop: after.startsWith('.'),
      isBare: form.respond(gap).trim() === gap,
      isData: isJson(form.respond('1')),
      isSingle: place.isSingle,
    },
  }
}

/** True if marks, blanks and other notations of the value leave the meaning of the form. */
const canBeRewritten = ({ name }: Form, { place }: Scene): boolean =>
  place.isAlone && !place.isData && !['dollars', 'bold', 'brackets'].includes(name)

/** Texts that are as bad as one that the reward pays less, where it does. */
async function zoneTrials(
  bench: Bench,
  { rows, baselines, budget }: SearchOptions,
): Promise<readonly Trial[]> {
  const zones = rows
    .flatMap((row, index) => zonesOf(row).map((zone) => ({ row: index, zone })))
    .slice(0, Math.max(4, Math.floor(budget / 100)))
  const probes = await bench.scoreAll(
    zones.flatMap(({ row, zone }) => [
      { row, response: zone.plain },
      ...(zone.control === null ? [] : [{ row, response: zone.control }]),
    ]),
  )
  let at = 0
  const trials: Trial[] = []
  for (const { row, zone } of zones) {
    const plain = probes[at++]?.reward ?? null
    const { right = null } = baselines[row] ?? {}
    const control = zone.control === null ? right : (probes[at++]?.reward ?? null)
    if (plain === null || right === null || control === null) continue
    const margin = marginOf(right, plain)
    if (control < right - margin || plain >= right - margin) continue
    const drafts = Object.entries(zone.variants).map(([name, response]) => ({ row, response, name }))
    for (const { draft, reward, outcome } of await bench.scoreAll(drafts)) {
      trials.push({
        row: idOf(rows, row),
        attack: { id: `${zone.family}/${draft.name}`, family: zone.family, against: 'rule' },
        response: draft.response,
        original: rows[row]?.sample.response ?? '',
        reward,
        failure: outcome && !outcome.valid ? outcome.failure.kind : null,
        succeeded: reward !== null && reward > plain + margin,
        paidInFull: reward !== null && reward >= right - margin,
        ignoresTask: false,
      })
    }
  }
  return trials
}

function trialOf(
  { draft, reward, outcome }: Scored<Draft>,
  rows: readonly AuditRow[],
  baselines: readonly Baseline[],
): Trial {
  const { stage, attack, response, row } = draft
  const full = Math.min(stage.right, baselines[row]?.right ?? stage.right)
  const margin = marginOf(full, stage.floor)
  return {
    row: idOf(rows, row),
    attack,
    response,
    original: stage.scene.respond(stage.place.value.right),
    reward,
    failure: outcome && !outcome.valid ? outcome.failure.kind : null,
    succeeded: reward !== null && reward > stage.floor + margin,
    paidInFull: reward !== null && reward >= full - margin,
    ignoresTask: false,
  }
}
