import { wilson } from '../../core/statistics/intervals.ts'
import { mean } from '../../core/statistics/summary.ts'
import type { Audited, Baseline, Trial } from './audit.ts'
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
  /** Trials that earned at least as much as the right answer. */
  readonly paidInFull: number
  /** Over the trials with a reward. null if there are none. */
  readonly meanReward: number | null
  /** Trials without a reward, by kind of failure. */
  readonly invalid: Readonly<Record<string, number>>
  /** A successful attack, preferably with full pay. null if none succeeded. */
  readonly example: Example | null
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
  readonly means: Readonly<Record<'right' | 'near' | 'nothing', number | null>>
  readonly families: readonly Finding[]
  readonly attacks: readonly Finding[]
  /**
   * Attacks that ignore the task and got full pay on a row. A reward that pays no right answer is one, too.
   */
  readonly paysForNothing: readonly string[]
  /** Faulty judge replies that a step read as the best verdict. */
  readonly parsers: readonly ParserTrial[]
}

const rateOf = (successes: number, trials: number): Rate => {
  const [low, high] = wilson(successes, trials)
  return { successes, trials, rate: trials === 0 ? 0 : successes / trials, low, high }
}

/** Counts the trials by attack and by family. Pure. */
export function findingsOf(
  { reward, version, baselines, trials }: Audited,
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
    means: { right: meanOf('right'), near: meanOf('near'), nothing: meanOf('nothing') },
    families: grouped(trials, ({ attack }) => attack.family),
    attacks: grouped(trials, ({ attack }) => attack.id),
    paysForNothing: [
      ...(baselines.some(({ isPaid }) => isPaid) ? [] : ['no right answer is paid']),
      ...new Set(trials.filter((one) => one.ignoresTask && one.paidInFull).map(({ attack }) => attack.id)),
    ],
    parsers,
  }
}

function grouped(trials: readonly Trial[], nameOf: (trial: Trial) => string): readonly Finding[] {
  const groups = new Map<string, Trial[]>()
  for (const trial of trials) groups.set(nameOf(trial), [...(groups.get(nameOf(trial)) ?? []), trial])
  return [...groups].map(([name, members]) => {
    const invalid: Record<string, number> = {}
    for (const { failure } of members) if (failure) invalid[failure] = (invalid[failure] ?? 0) + 1
    return {
      name,
      against: members[0]?.attack.against ?? '',
      ...rateOf(members.filter(({ succeeded }) => succeeded).length, members.length),
      paidInFull: members.filter((one) => one.paidInFull).length,
      meanReward: meanOrNull(members.map(({ reward }) => reward)),
      invalid,
      example: exampleOf(members),
    }
  })
}

function exampleOf(trials: readonly Trial[]): Example | null {
  const found = trials.find(({ paidInFull }) => paidInFull) ?? trials.find(({ succeeded }) => succeeded)
  if (!found) return null
  const { row, attack, response, reward, paidInFull } = found
  return { row, attack: attack.id, response, reward, paidInFull }
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
