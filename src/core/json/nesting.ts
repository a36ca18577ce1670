import { depthLimit, type Path } from './limits.ts'

/** A name may be as long as the body, and a path would repeat it for each value below. */
const longestPath = 4096
const list = 0x5b

/** The containers around the place where a scan stands, by depth from 1 on; plain arrays, for they change with each byte. */
export class JsonNesting {
  /** The byte that opened it. */
  readonly kinds = new Uint8Array(depthLimit + 1)
  /** The place behind that byte. */
  readonly opened = new Int32Array(depthLimit + 1)
  /** Its commas so far. */
  readonly counts = new Int32Array(depthLimit + 1)
  /** Both ends of its latest name, with the quotes. */
  readonly names = new Int32Array(2 * depthLimit + 2)

  /** The path of what is read in the container of this depth, without what comes after long names. */
  path(bytes: Buffer, depth: number): Path {
    const path: (string | number)[] = []
    let length = 0
    for (let level = 1; level <= depth; level++) {
      if (this.kinds[level] === list) path.push(this.counts[level] as number)
      else {
        const [from, to] = [this.names[2 * level] as number, this.names[2 * level + 1] as number]
        length += to - from
        if (length > longestPath) break
        path.push(JSON.parse(bytes.toString('utf8', from, to) || '""') as string)
      }
    }
    return path
  }
}
