import { openRows } from '../dataset/row-source.ts'
import { GatewayError } from '../errors.ts'

/** The results of a finished evaluation, turn by turn in their order. */
export interface EarlierResults {
  /** The next so many; throws RG_INPUT_INVALID where their ids are others. */
  next(ids: readonly string[]): Promise<readonly unknown[]>
}

export async function earlierResults(path: string, stdin: NodeJS.ReadableStream): Promise<EarlierResults> {
  const rows = flat(await openRows(path, stdin))
  return {
    async next(ids) {
      const results: unknown[] = []
      for (const id of ids) {
        const { value } = (await rows.next()).value ?? {}
        const had = (value as { readonly id?: unknown } | undefined)?.id
        if (had !== id) {
          throw new GatewayError(
            'RG_INPUT_INVALID',
            `${path} has ${had === undefined ? 'no row' : `the row '${had}'`} where '${id}' belongs: it holds no results of this evaluation`,
          )
        }
        results.push(value)
      }
      return results
    },
  }
}

async function* flat<T>(pieces: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const piece of pieces) yield* piece
}
