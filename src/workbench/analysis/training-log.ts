/** The values of a metric as [training step, value], in log order. A step may occur twice. */
export type Series = readonly (readonly [step: number, value: number])[]

/** Every metric of a log by its full name (`critic/score/mean`). */
type TrainingLog = ReadonlyMap<string, Series>

/** The six metrics of a run's figures, under the names of the published analysis. */
export const metricNames = {
  test_score: 'val/openai/gsm8k/test_score',
  train_reward: 'critic/score/mean',
  kl_penalty: 'actor/reward_kl_penalty',
  entropy_loss: 'actor/entropy_loss',
  grad_norm: 'actor/grad_norm',
  response_length: 'response_length/mean',
} as const

/** By metric. Metrics that the log lacks are absent. */
export type RunMetrics = Readonly<Partial<Record<keyof typeof metricNames, Series>>>

const value = /^(?:-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|-?inf(?:inity)?|nan)$/i
const wrapped = /^(?:np\.float\d+|tensor)\(([^()]*)\)$/

/**
 * Reads verl's console lines (`step:5 - critic/score/mean:0.5 - ...`) and the JSON lines of its file logger
 * (`{"step": 5, "data": {...}}`). Skips NaN, infinities and all other lines. Linear time.
 */
export function readTrainingLog(text: string): TrainingLog {
  const log = new Map<string, [number, number][]>()
  for (const line of text.split(lineEnd)) addLine(log, line)
  return log
}

/** Like `readTrainingLog`, for text in chunks. Reads at most the first million characters of a line. */
export async function readTrainingLogPieces(pieces: AsyncIterable<string>): Promise<TrainingLog> {
  const log = new Map<string, [number, number][]>()
  let rest = ''
  for await (const piece of pieces) {
    const [first = '', ...others] = piece.split(lineEnd)
    const lines = [rest.length < longestLine ? rest + first : rest, ...others]
    rest = lines.pop() ?? ''
    for (const line of lines) addLine(log, line)
  }
  addLine(log, rest)
  return log
}

const lineEnd = /\r\n|[\r\n]/
const longestLine = 1_000_000

function addLine(log: Map<string, [number, number][]>, line: string): void {
  for (const [name, at, number] of line.startsWith('{') ? jsonLine(line) : consoleLine(line)) {
    const own = log.get(name)
    if (own) own.push([at, number])
    else log.set(name, [[at, number]])
  }
}

type Reading = readonly [name: string, step: number, value: number]

function jsonLine(line: string): readonly Reading[] {
  try {
    const { step, data } = JSON.parse(line.replace(/\b(?:NaN|-?Infinity)\b/g, 'null')) as {
      step?: unknown
      data?: unknown
    }
    if (typeof step !== 'number' || data === null || typeof data !== 'object') return []
    return Object.entries(data).flatMap(([name, number]) =>
      typeof number === 'number' && Number.isFinite(number) ? [[name, step, number] as const] : [],
    )
  } catch {
    return []
  }
}

function consoleLine(line: string): readonly Reading[] {
  const step = /\bstep:\s?(\d+)/.exec(line)
  if (!step) return []
  const fields = line.slice(step.index + step[0].length).split(' - ')
  return fields.flatMap((field) => {
    const colon = field.indexOf(':')
    const text = field.slice(colon + 1).trim()
    const plain = wrapped.exec(text)?.[1] ?? text
    const number = colon > 0 && value.test(plain) ? Number(plain) : Number.NaN
    return Number.isFinite(number) ? [[field.slice(0, colon).trim(), Number(step[1]), number] as const] : []
  })
}

/** The names of the same metrics in later versions of verl, by preference. */
const laterNames: Readonly<Record<string, readonly string[]>> = {
  train_reward: ['critic/rewards/mean'],
  entropy_loss: ['actor/entropy'],
}

/** The metrics of a run, and the log's name of each. */
export interface NamedMetrics {
  readonly metrics: RunMetrics
  readonly names: Readonly<Partial<Record<keyof typeof metricNames, string>>>
}

/** Selects the six metrics. The validation score may be named after any data source. */
export function metricsOfRun(log: TrainingLog): NamedMetrics {
  const { test_score, ...others } = metricNames
  const known = Object.entries(others).map(([key, name]) => [
    key,
    [name, ...(laterNames[key] ?? [])].find((one) => log.has(one)),
  ])
  const names = [...log.keys()]
  const validation =
    (log.has(test_score) ? test_score : undefined) ??
    names.find((name) => name.startsWith('val/') && name.endsWith('test_score')) ??
    names.find((name) => /^val(?:-core)?\/.*(?:acc|reward|score)\/mean@\d+$/.test(name))
  const found = [['test_score', validation], ...known].filter(([, name]) => name !== undefined)
  return {
    metrics: Object.fromEntries(found.map(([key, name]) => [key, log.get(String(name)) ?? []])),
    names: Object.fromEntries(found),
  }
}
