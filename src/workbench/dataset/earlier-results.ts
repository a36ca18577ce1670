import { GatewayError } from '../../core/errors.ts'
import { openRows } from './open-rows.ts'
import { eachRow } from './row-source.ts'

/** The results of a finished file, which is gone over again, in their order. */
interface EarlierResults {
  /** The next so many; throws RG_INPUT_INVALID where their ids are others. */
  next(ids: readonly string[]): Promise<readonly unknown[]>
}

/** Opens a file of results. Throws RG_INPUT_INVALID where it cannot be read. */
export async function earlierResults(path: string, stdin: NodeJS.ReadableStream): Promise<EarlierResults> {
  const rows = eachRow(await openRows(path, stdin))
  return {
    async next(ids) {
      const results: unknown[] = []
      for (const id of ids) {
        const { value } = (await rows.next()).value ?? {}
        const had = (value as { readonly id?: unknown } | undefined)?.id
        if (had !== id) {
          throw new GatewayError(
            'RG_INPUT_INVALID',
            `${path} has ${had === undefined ? 'no row' : `the row '${had}'`} where '${id}' belongs: it holds no results of these rows`,
          )
        }
        results.push(value)
      }
      return results
    },
  }
}
