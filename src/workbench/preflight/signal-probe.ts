/**
 * Probes the learning signal before a run: do a policy's answers to the same prompt earn different rewards?
 */

import type { Failure, Outcome, Sample } from '../../core/sample/sample.ts'
import { extent, mean, variance } from '../../core/statistics/summary.ts'
import { beyondText } from '../dataset/prompt-rows.ts'
import type { Policy, PolicyAnswer } from '../rollout/policy.ts'
import type { Findings } from './finding.ts'
import { looksLikeText } from './garbled-text.ts'
import type { OpenedReward } from './opened-reward.ts'
import type { Item } from './row-checks.ts'

/** The rewards of a policy's answers. */
export interface Probe {
  readonly prompts: number
  readonly answers: number
  /**
   * How close the best answer comes to full marks: `good`, `format` or `weak`. `none`: all rewards within a
   * group are equal.
   */
  readonly verdict: 'good' | 'format' | 'weak' | 'none'
  readonly mean: number
  readonly max: number
  readonly min: number
  /** The distinct rewards with their counts, the highest first. */
  readonly levels: readonly { readonly reward: number; readonly answers: number }[]
  /** One for each prompt, with the population variance of its rewards. */
  readonly groups: readonly { readonly row: string; readonly mean: number; readonly variance: number }[]
}

/** How the policy is sampled. */
export interface Sampled {
  readonly policy: Policy
  /** The number of answers to each prompt. */
  readonly answers: number
  readonly temperature: number
  readonly maxTokens: number
  /** Servers that support seeds repeat the same answers. */
  readonly seed: number
}

/** Shares of full marks that only right answers, or only well-formed ones, reach. */
const goodShare = 0.8
const formatShare = 0.1
const solvedShare = 0.95
const fewTexts = 0.8
const manyCut = 0.5

/**
 * `fullMarks` is the reward of right answers. null if no answer could be scored. Rejects only with the
 * signal's reason.
 */
export async function probe(
  opened: OpenedReward,
  chosen: readonly Item[],
  sampled: Sampled,
  fullMarks: number,
  findings: Findings,
  signal: AbortSignal,
): Promise<Probe | null> {
  const items = chosen.filter(({ sample, place }) => {
    const failure = beyondText(sample.prompt)
    if (failure) findings.add('unseen-content', 'the policy is asked with texts only', place)
    return failure === null
  })
  const answers = await answersTo(items, sampled, signal)
  const samples: { readonly item: Item; readonly sample: Sample }[] = []
  const given = items.map((item, at) => ({ item, own: (answers[at] ?? []).filter(isAnswer) }))
  for (const [at, { place }] of items.entries())
    for (const failure of (answers[at] ?? []).filter((one) => !isAnswer(one)))
      findings.add('policy-unreachable', (failure as Failure).detail, place)
  for (const { item, own } of given) {
    lookAtAnswers(item, own, findings)
    for (const [index, { text }] of own.entries()) {
      const group = { id: item.place, index, size: own.length }
      samples.push({ item, sample: { ...item.sample, id: `${item.place}/${index}`, response: text, group } })
    }
  }
  const rows = samples.map(({ sample }) => sample)
  const outcomes = await opened.score(opened.plan, rows, signal)
  signal.throwIfAborted()
  for (const [at, outcome] of outcomes.entries()) {
    if (outcome.valid) continue
    const { kind, detail } = outcome.failure
    findings.add('policy-unscored', `${kind}: ${detail}`, samples[at]?.item.place ?? '')
  }
  const groups = items.flatMap((item) => {
    const rewards = outcomes.flatMap((outcome, at) => (samples[at]?.item === item ? rewardOf(outcome) : []))
    return rewards.length === 0 ? [] : [{ row: item.place, rewards }]
  })
  const all = groups.flatMap(({ rewards }) => rewards)
  return all.length === 0 ? null : judged(groups, all, fullMarks, findings)
}

function answersTo(
  items: readonly Item[],
  { policy, answers, temperature, maxTokens, seed }: Sampled,
  signal: AbortSignal,
): Promise<readonly (readonly (PolicyAnswer | Failure)[])[]> {
  const ask = ({ place, sample: { prompt } }: Item, draw: number) => {
    const sampling = { temperature, max_tokens: maxTokens, seed: (seed + draw) % 2 ** 31 }
    return policy.ask({ prompt, key: `${place}#${draw}`, sampling, signal })
  }
  return Promise.all(
    items.map((item) => Promise.all(Array.from({ length: answers }, (_, draw) => ask(item, draw)))),
  )
}

function judged(
  groups: readonly { readonly row: string; readonly rewards: readonly number[] }[],
  all: readonly number[],
  fullMarks: number,
  findings: Findings,
): Probe {
  const figures = groups.map(({ row, rewards }) => ({
    row,
    mean: mean(rewards),
    variance: variance(rewards),
  }))
  const [min, max] = extent(all)
  const isFlat = figures.every(({ variance }) => variance < 1e-12)
  const verdict = isFlat
    ? 'none'
    : max >= goodShare * fullMarks
      ? 'good'
      : max >= formatShare * fullMarks
        ? 'format'
        : 'weak'
  const average = mean(all)
  if (average >= solvedShare * fullMarks)
    findings.add('solved-data', `the policy's answers earn ${average.toFixed(3)} of ${fullMarks} on average`)
  else if (isFlat) findings.add('no-signal', `all answers to each of ${groups.length} prompts earn the same`)
  else if (verdict !== 'good') findings.add('weak-signal', `the best answer earns ${max} of ${fullMarks}`)
  const counts = new Map<number, number>()
  for (const reward of all) counts.set(reward, (counts.get(reward) ?? 0) + 1)
  const levels = [...counts]
    .map(([reward, answers]) => ({ reward, answers }))
    .sort((a, b) => b.reward - a.reward)
  return {
    prompts: groups.length,
    answers: all.length,
    verdict,
    mean: average,
    max,
    min,
    levels,
    groups: figures,
  }
}

function lookAtAnswers({ place }: Item, answers: readonly PolicyAnswer[], findings: Findings): void {
  const texts = answers.filter(({ text }) => looksLikeText(text)).length
  if (texts < fewTexts * answers.length)
    findings.add('policy-text', 'most of the answers do not look like text', place)
  if (answers.filter(({ finishReason }) => finishReason === 'length').length > manyCut * answers.length)
    findings.add('policy-cut', 'most of the answers are cut off', place)
}

const isAnswer = (one: PolicyAnswer | Failure): one is PolicyAnswer => 'text' in one

const rewardOf = (outcome: Outcome): number[] => (outcome.valid ? [outcome.reward] : [])
