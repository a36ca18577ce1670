import { wilson } from '../../core/statistics/intervals.ts'
import { mean } from '../../core/statistics/summary.ts'
import type { Baseline, Trial } from './attack.ts'
import type { Audited } from './audit.ts'
import type { Rewrite } from './grammar/search.ts'
import { nameOfReply, type ParserTrial } from './parsers.ts'

/** Successes among trials with Wilson's 95 % interval. */
export interface Rate {
  readonly successes: number
  readonly trials: number
  readonly rate: number
  readonly low: number
  readonly high: number
}

/** The results of one attack, or of one family, over all rows. */
export interface Finding extends Rate {
  readonly name: string
  readonly against: string
  /** The answer's place holds the right value alone; the response contradicts it elsewhere. */
  readonly isOutside: boolean
  /** Trials that earned at least as much as the right answer. */
  readonly paidInFull: number
  /** Over the trials with a reward. null if there are none. */
  readonly meanReward: number | null
  /** Trials without a reward, by kind of failure. */
  readonly invalid: Readonly<Record<string, number>>
  /** A successful attack, preferably with full pay. null if none succeeded. */
  readonly example: Example | null
  /** Up to three of them, with full pay first. */
  readonly examples: readonly Example[]
}

/** A text that earned more than it deserves. */
interface Example {
  readonly row: string
  readonly attack: string
  readonly response: string
  /** null if invalid, which is right for a text that costs too much. */
  readonly reward: number | null
  readonly paidInFull: boolean
}

export interface Findings {
  readonly reward: string
  readonly version: string
  readonly rows: number
  /** Right answers that earn more than the worst text. */
  readonly right: Rate
  /** Near misses that earn less than the right answer. */
  readonly near: Rate
  /** Rows whose response earns no more than an answer that says nothing: perhaps it is not right. */
  readonly worthless: number
  readonly means: Readonly<Record<'right' | 'near' | 'nothing', number | null>>
  readonly families: readonly Finding[]
  readonly attacks: readonly Finding[]
  /**
   * Attacks that ignore the task and got full pay on a row; `unpaid` first, where the reward pays no right answer.
   */
  readonly paysForNothing: readonly string[]
  /** Faulty judge replies that a step read as the best verdict. */
  readonly parsers: readonly ParserTrial[]
  /** Rewrites of right answers, by class. `successes` counts those that were refused. */
  readonly rewrites: readonly Refusals[]
  /** The forms of an answer in which the reward pays the right value, by the number of rows. */
  readonly forms: Readonly<Record<string, number>>
  /** True if too many answers ran into the time limit, so that the search was given up. */
  readonly isCutShort: boolean
}

/** How often a class of rewrites of right answers is refused, with a refused text. */
export interface Refusals extends Rate {
  readonly name: string
  readonly family: string
  readonly example: Pick<Rewrite, 'row' | 'response' | 'reward' | 'right'> | null
}

/** The finding that makes all others worthless. */
export const unpaid = 'no right answer is paid'

/** A share with its interval. */
export const rateOf = (successes: number, trials: number): Rate => {
  const [low, high] = wilson(successes, trials)
  return { successes, trials, rate: trials === 0 ? 0 : successes / trials, low, high }
}

/** Counts the trials by attack and by family. Pure. */
export function findingsOf(
  { reward, version, baselines, trials, searched }: Audited,
  parsers: readonly ParserTrial[] = [],
): Findings {
  const compared = (
    a: 'right' | 'near',
    b: 'near' | 'nothing' | 'right',
    holds: (a: number, b: number) => boolean,
  ) => {
    const both = baselines.flatMap((one) => {
      const [left, right] = [one[a], one[b]]
      return left === null || right === null ? [] : [[left, right] as const]
    })
    return rateOf(both.filter(([left, right]) => holds(left, right)).length, both.length)
  }
  const meanOf = (what: 'right' | 'near' | 'nothing'): number | null =>
    meanOrNull(baselines.map((one: Baseline) => one[what]))
  return {
    reward,
    version,
    rows: baselines.length,
    right: rateOf(baselines.filter(({ isPaid }) => isPaid).length, baselines.length),
    near: compared('near', 'right', (near, right) => near < right),
    worthless: baselines.filter(
      ({ right, nothing }) => right !== null && nothing !== null && right <= nothing,
    ).length,
    means: { right: meanOf('right'), near: meanOf('near'), nothing: meanOf('nothing') },
    families: grouped(trials, ({ attack }) => attack.family),
    attacks: grouped(trials, ({ attack }) => attack.id),
    paysForNothing: [
      ...(baselines.some(({ isPaid }) => isPaid) ? [] : [unpaid]),
      ...new Set(trials.filter((one) => one.ignoresTask && one.paidInFull).map(({ attack }) => attack.id)),
    ],
    parsers,
    rewrites: refusalsOf(searched?.rewrites ?? []),
    forms: searched?.forms ?? {},
    isCutShort: searched?.isCutShort ?? false,
  }
}

function refusalsOf(rewrites: readonly Rewrite[]): readonly Refusals[] {
  const names = [...new Set(rewrites.map(({ id }) => id))]
  return names.map((name) => {
    const members = rewrites.filter(({ id }) => id === name)
    const found = members.find(({ refused }) => refused)
    return {
      name,
      family: members[0]?.family ?? '',
      ...rateOf(members.filter(({ refused }) => refused).length, members.length),
      example: found
        ? { row: found.row, response: found.response, reward: found.reward, right: found.right }
        : null,
    }
  })
}

function grouped(trials: readonly Trial[], nameOf: (trial: Trial) => string): readonly Finding[] {
  const groups = new Map<string, Trial[]>()
  for (const trial of trials) {
    const members = groups.get(nameOf(trial))
    if (members) members.push(trial)
    else groups.set(nameOf(trial), [trial])
  }
  return [...groups].map(([name, members]) => {
    const invalid: Record<string, number> = {}
    const examples = examplesOf(members)
    for (const { failure } of members) if (failure) invalid[failure] = (invalid[failure] ?? 0) + 1
    return {
      name,
      against: members[0]?.attack.against ?? '',
      isOutside: members[0]?.attack.isOutside ?? false,
      ...rateOf(members.filter(({ succeeded }) => succeeded).length, members.length),
      paidInFull: members.filter((one) => one.paidInFull).length,
      meanReward: meanOrNull(members.map(({ reward }) => reward)),
      invalid,
      example: examples[0] ?? null,
      examples,
    }
  })
}

const mostExamples = 3

function examplesOf(trials: readonly Trial[]): readonly Example[] {
  const full = trials.filter(({ paidInFull }) => paidInFull)
  const partly = trials.filter(({ succeeded, paidInFull }) => succeeded && !paidInFull)
  return [...full, ...partly].slice(0, mostExamples).map(({ row, attack, response, reward, paidInFull }) => ({
    ...{ row, attack: attack.id, response, reward, paidInFull },
  }))
}

function meanOrNull(values: readonly (number | null)[]): number | null {
  const numbers = values.filter((value) => value !== null)
  return numbers.length === 0 ? null : mean(numbers)
}

/** Writes JUnit XML: a suite for each family, a case for each attack. `fails` selects the failures. */
export function junit(findings: Findings, fails: (attack: string) => boolean): string {
  const suites = findings.families.map((family) => {
    const cases = findings.attacks.filter(({ name }) => name.startsWith(`${family.name}/`))
    const failures = cases.filter(({ name }) => fails(name))
    const lines = cases.map((one) => {
      const title = escaped(one.name.slice(family.name.length + 1))
      const open = `    <testcase classname="${escaped(`${findings.reward}.${family.name}`)}" name="${title}"`
      if (!fails(one.name)) return `${open}/>`
      const said = `${one.successes} of ${one.trials} paid more than earned, ${one.paidInFull} of them in full`
      return `${open}><failure message="${said}"/></testcase>`
    })
    const counts = `tests="${cases.length}" failures="${failures.length}"`
    return [`  <testsuite name="${escaped(family.name)}" ${counts}>`, ...lines, '  </testsuite>'].join('\n')
  })
  const misread = findings.parsers.map((one) => {
    const open = `    <testcase classname="${escaped(`${findings.reward}.faulty reply`)}" name="${escaped(`${one.step}: ${one.reply}`)}"`
    return fails(nameOfReply(one))
      ? `${open}><failure message="read as ${one.value}"/></testcase>`
      : `${open}/>`
  })
  if (misread.length > 0) {
    const failures = findings.parsers.filter((one) => fails(nameOfReply(one))).length
    const head = `  <testsuite name="faulty reply" tests="${misread.length}" failures="${failures}">`
    suites.push([head, ...misread, '  </testsuite>'].join('\n'))
  }
  const name = escaped(`reward-gateway audit ${findings.reward}`)
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<testsuites name="${name}">`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n')
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** XML 1.0 cannot represent most control characters, so they are replaced. */
const escaped = (text: string): string =>
  text
    .replace(/[&<>"]/g, (sign) => entities[sign] ?? sign)
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '?')
