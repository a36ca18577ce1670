import { seeded } from '../support/seeded.ts'
import { seenImage, tagOf, verdictOf } from './verdicts.ts'

/** What a prompt asks for; `burst` is run B. Each is a reward of its own. */
export const kinds = ['math', 'math-steps', 'code', 'open', 'agent', 'image', 'burst'] as const
export type Kind = (typeof kinds)[number]

/** The shares of run A. A quarter of mathematics asks the process reward model. */
const shares: readonly (readonly [Kind, number])[] = [
  ['math', 0.2625],
  ['math-steps', 0.0875],
  ['code', 0.25],
  ['open', 0.25],
  ['agent', 0.1],
  ['image', 0.05],
]

export const groupSize = 16

/** One rollout, with what is true of it. */
export interface Row {
  readonly id: string
  readonly kind: Kind
  readonly group: string
  readonly task: string
  readonly attempt: string
  /** Of the response; a token is four characters. */
  readonly tokens: number
  /** When it is done, milliseconds from the beginning of the step. */
  readonly atMs: number
  /** It ran into its limit of tokens, within its thinking. */
  readonly isTruncated: boolean
  readonly isRight: boolean
  /** It was stopped half-way, sent as `aborted`, and is sent again when it is done. */
  readonly wasAborted: boolean
  /** Which picture its prompt has: a number of its group's own. */
  readonly salt: number
}

export interface LoadOptions {
  readonly seed: number
  /** Of run A; run B has a quarter as many. */
  readonly rows: number
  readonly stepMs: number
  /** 1 % of the responses have 128k tokens. */
  readonly isLong: boolean
  /** When run B comes, as a share of the step. */
  readonly burstAt: number
}

const [medianTokens, sigma, leastTokens, mostTokens, longTokens] = [11_000, 0.6, 1000, 32_000, 128_000]
/** Of a row of run B: 4 KB. */
const burstTokens = 900
const [shareAborted, shareLong] = [0.03, 0.01]

/** Both runs, in the order of their arrival; equal for equal options. */
export function loadOf({ seed, rows, stepMs, isLong, burstAt }: LoadOptions): readonly Row[] {
  const random = seeded(seed)
  const prompts = Math.max(shares.length, Math.round(rows / groupSize))
  const all = shuffled(kindsOf(prompts), random).flatMap((kind, prompt) =>
    Array.from({ length: groupSize }, (_, index): Row => {
      const drawn = isLong && random() < shareLong ? longTokens : lengthOf(random)
      const tokens = drawn === longTokens ? drawn : Math.min(drawn, mostTokens)
      return {
        ...named(`${seed} a ${prompt}`, index, kind, prompt),
        tokens,
        atMs: Math.round(stepMs * Math.min(1, tokens / mostTokens)),
        // A share of 3.8 % reaches the limit.
        isTruncated: tokens === mostTokens,
        isRight: random() < 0.5,
        wasAborted: random() < shareAborted,
      }
    }),
  )
  const burst = Array.from({ length: Math.round(rows / 4) }, (_, at): Row => {
    const prompt = Math.floor(at / groupSize)
    return {
      ...named(`${seed} b ${prompt}`, at % groupSize, 'burst', prompt),
      tokens: burstTokens,
      atMs: Math.round(stepMs * burstAt + 1000 * random()),
      isTruncated: false,
      isRight: random() < 0.5,
      wasAborted: false,
    }
  })
  return [...all, ...burst].sort((one, other) => one.atMs - other.atMs)
}

/** Rows of every kind that no judge is slow to answer, which come before the step. */
export function warmingRows(seed: number, count: number): readonly Row[] {
  const quick = kinds.filter((kind) => kind !== 'open')
  return Array.from({ length: count }, (_, at): Row => {
    const kind = quick[at % quick.length] ?? 'math'
    return {
      ...named(`${seed} warm ${at}`, 0, kind, at),
      tokens: kind === 'burst' ? burstTokens : medianTokens,
      atMs: 0,
      isTruncated: false,
      isRight: true,
      wasAborted: false,
    }
  })
}

const named = (name: string, index: number, kind: Kind, salt: number) => ({
  id: `${name} ${index}`.replaceAll(' ', '-'),
  kind,
  group: name.replaceAll(' ', '-'),
  task: tagOf(name),
  attempt: tagOf(`${name} ${index}`),
  salt,
})

function kindsOf(prompts: number): Kind[] {
  let sum = 0
  return shares.flatMap(([kind, share]) => {
    const before = Math.round(sum * prompts)
    sum += share
    return Array.from({ length: Math.round(sum * prompts) - before }, () => kind)
  })
}

function shuffled<T>(items: T[], random: () => number): T[] {
  for (let at = items.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    ;[items[at], items[other]] = [items[other] as T, items[at] as T]
  }
  return items
}

function lengthOf(random: () => number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return Math.max(leastTokens, Math.round(medianTokens * Math.exp(sigma * normal)))
}

interface Weights {
  readonly rule: number
  readonly small: number
  readonly big: number
  readonly steps: number
}

/** The weights of an edition of the config: sums of them are exact, and no two editions are equal. */
export function weightsOf(edition: number): Weights {
  const small = 0.5 ** (1 + (edition % 4))
  return { rule: 1 + edition, small, big: small / 2, steps: small }
}

/** What a row must come to: a reward between two numbers, or the kind of its failure. */
export type Truth = { readonly reward: readonly [low: number, high: number] } | { readonly failure: string }

/** The truth of a row under an edition of the config. `url`: the image of its prompt. */
export function truthOf(row: Row, edition: number, url = ''): Truth {
  const weights = weightsOf(edition)
  // A rule about calls reads no answer.
  const rule = row.isRight && (!row.isTruncated || row.kind === 'agent') ? weights.rule : 0
  const { small, big } = asked(row)
  const saidSmall = small ? verdictOf('judge-small', row.task, row.attempt, url && seenImage(url)) : 0
  const saidBig = big ? verdictOf('judge-big', row.task, row.attempt) : 0
  if (saidSmall === null || saidBig === null) return { failure: 'judge_unparseable' }
  const sum = rule + weights.small * saidSmall + weights.big * saidBig
  if (row.kind !== 'math-steps') return { reward: [sum, sum] }
  // Each step has 0.9 to 0.95, or 0.1 to 0.15 from the first wrong one on; the least counts.
  const least = verdictOf('prm', row.task, row.attempt) === 1 ? 0.9 : 0.1
  return { reward: [sum + weights.steps * least, sum + weights.steps * (least + 0.05)] }
}

/** The judges that a row needs. What was cut off within its thinking has no answer to judge. */
export function asked({ kind, isTruncated }: Row): { small: boolean; big: boolean; steps: boolean } {
  return {
    small: !isTruncated && (kind === 'open' || kind === 'agent' || kind === 'image' || kind === 'burst'),
    big: !isTruncated && kind === 'open',
    steps: kind === 'math-steps',
  }
}

/** True for rows that ask no model and run no program. */
export const isByRule = ({ kind }: Row): boolean => kind === 'math'
