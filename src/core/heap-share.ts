import { getHeapStatistics } from 'node:v8'

const mebi = 1024 * 1024
/** What the process takes when it is idle. */
const idleBytes = 64 * mebi
/** One body of an ordinary batch fits whatever the heap is. */
const leastBytes = 8 * mebi

/** A share of the heap that V8 may use in this process (see --max-old-space-size), bytes; 0 < share < 1. */
export const heapShare = (share: number): number =>
  Math.max(leastBytes, Math.floor((getHeapStatistics().heap_size_limit - idleBytes) * share))
