/**
 * Begins the works one after the other, at most `most` ahead of the one whose result is awaited, and hands the results to
 * `take` in the order of their beginnings. What fails or is aborted ends it once nothing is under way any more.
 */
export async function inOrder<T>(
  works: AsyncIterable<() => Promise<T>>,
  most: number,
  signal: AbortSignal,
  take: (result: T) => Promise<void>,
): Promise<void> {
  const underWay: Promise<T>[] = []
  const takeFirst = async () => {
    const first = underWay.shift()
    if (first !== undefined) await take(await first)
  }
  try {
    for await (const begin of works) {
      signal.throwIfAborted()
      const work = begin()
      // It is awaited in its turn; until then a rejection is no crash.
      work.catch(() => undefined)
      underWay.push(work)
      if (underWay.length >= most) await takeFirst()
    }
    while (underWay.length > 0) await takeFirst()
    signal.throwIfAborted()
  } catch (error) {
    await Promise.allSettled(underWay)
    throw error
  }
}
