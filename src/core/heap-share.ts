import { getHeapStatistics } from 'node:v8'

const mebi = 1024 * 1024
/** Memory of an idle process. */
const idleBytes = 64 * mebi
/** Always enough for the body of an ordinary batch. */
const leastBytes = 8 * mebi

/** A share (0 to 1) of the heap that V8 may use, in bytes. See --max-old-space-size. */
export const heapShare = (share: number): number =>
  Math.max(leastBytes, Math.floor((getHeapStatistics().heap_size_limit - idleBytes) * share))
