import { drawn, seeded } from '../../core/statistics/random.ts'
import { eachRow, isObject, type RowSource } from '../dataset/row.ts'
import { beginRowFile } from '../dataset/row-file.ts'

interface SubsetJob {
  /** Opens the file from its start. It is read twice. */
  open(): Promise<RowSource>
  readonly output: string
  /** The SQL types of the columns. By default they are inferred. */
  readonly columns?: Readonly<Record<string, string>>
  readonly size: number
  readonly seed: number
  /** Draws from each data source in proportion, but at least one row. */
  readonly stratified: boolean
  readonly signal: AbortSignal
}

interface SourceCount {
  readonly source: string
  readonly rows: number
  readonly chosen: number
}

/**
 * Draws a validation subset without replacement, in file order. If `size` covers the file, takes all rows.
 * The same seed and file give the same rows. Rejects with the signal's reason and then leaves no file behind.
 */
export async function subset(job: SubsetJob): Promise<readonly SourceCount[]> {
  const sources: string[] = []
  for await (const { value } of rowsOf(await job.open(), job.signal)) sources.push(sourceOf(value))
  const chosen = new Set(choice(sources, job))
  const lines = await beginRowFile(job.output.endsWith('.parquet') ? `${job.output}.jsonl` : job.output)
  try {
    let at = 0
    for await (const { value } of rowsOf(await job.open(), job.signal)) {
      if (chosen.has(at++)) await lines.write(JSON.stringify(value))
    }
    if (job.output.endsWith('.parquet')) await lines.publishParquet(job.output, job.columns)
    else await lines.publish()
  } finally {
    await lines.remove()
  }
  return [...placesBySource(sources)].map(([source, places]) => ({
    source,
    rows: places.length,
    chosen: places.filter((place) => chosen.has(place)).length,
  }))
}

function choice(sources: readonly string[], { size, seed, stratified }: SubsetJob): readonly number[] {
  const all = [...sources.keys()]
  if (size >= all.length) return all
  const random = seeded(seed)
  if (!stratified) return drawn(all, size, random)
  return [...placesBySource(sources).values()].flatMap((places) =>
    drawn(places, Math.max(1, Math.floor((places.length / all.length) * size)), random),
  )
}

function placesBySource(sources: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>()
  for (const [place, source] of sources.entries()) {
    const own = places.get(source)
    if (own) own.push(place)
    else places.set(source, [place])
  }
  return places
}

const sourceOf = (value: unknown): string =>
  isObject(value) && typeof value.data_source === 'string' ? value.data_source : '(none)'

/** Skips lines that are not JSON. */
async function* rowsOf(source: RowSource, signal: AbortSignal) {
  for await (const row of eachRow(source)) {
    signal.throwIfAborted()
    if (row.value !== undefined) yield row
  }
}
