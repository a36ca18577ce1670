import { LRUCache } from 'lru-cache'
import type { AskName, Asks } from '../../../contract/index.ts'
import type { Clock } from '../../../core/clock.ts'
import { bytesOf } from '../../../core/sample/sample.ts'
import type { KeptAnswer } from '../interface/ask.ts'

/** Answers by question key. `bytes`: current size. */
export interface AnswerCache {
  get(key: string): KeptAnswer | undefined
  set(key: string, kept: KeptAnswer): void
  delete(key: string): void
  readonly bytes: number
}

/** An LRU cache, bounded by bytes and age. Failures are never cached. */
export function answerCache(clock: Clock, limits: { bytes: number; ttlMs: number }): AnswerCache {
  const kept = new LRUCache<string, KeptAnswer>({
    // 0 would mean unbounded; nothing fits into 1.
    maxSize: Math.max(1, limits.bytes),
    ttl: limits.ttlMs,
    // A larger entry would evict too many others.
    maxEntrySize: Math.max(1, Math.floor(limits.bytes / 16)),
    sizeCalculation: (entry, key) => entryOverhead + 2 * key.length + sizeOf(entry.answer),
    perf: { now: () => clock.now() },
    ttlResolution: 0,
  })
  return {
    get: (key) => kept.get(key),
    set(key, entry) {
      kept.set(key, entry)
    },
    delete: (key) => void kept.delete(key),
    get bytes() {
      return kept.calculatedSize
    },
  }
}

const entryOverhead = 256

/** Rough size of an answer in memory, never far too low. */
function sizeOf(answer: Asks[AskName]['answer']): number {
  if (typeof answer === 'number') return 8
  if ('reply' in answer) return bytesOf(answer.reply)
  if ('text' in answer && typeof answer.text === 'string') {
    const { logprobs } = answer as Asks['generate']['answer']
    const tokens = logprobs?.reduce((sum, { top }) => sum + 64 * (1 + top.length), 0) ?? 0
    return 2 * answer.text.length + tokens
  }
  if ('probabilities' in answer && Array.isArray(answer.probabilities))
    return 64 + 8 * answer.probabilities.length
  if (Array.isArray(answer))
    return answer.reduce((sum: number, row) => sum + (Array.isArray(row) ? 8 * row.length : 8), 0)
  return 64 * Object.keys(answer).length
}
