import { normal } from './hash.ts'

/** Log-normal: half of all sequences take less than the median; sigma is that of the logarithm. */
export interface Latency {
  readonly medianMs: number
  readonly sigma: number
  /** 2 is twice as fast, 0.2 five times slower. */
  readonly speed: number
  readonly seed: string | number
}

/** Milliseconds of one sequence: the same for the same question and attempt in every process and on every server. */
export function latencyMs(latency: Latency, question: number, attempt: number): number {
  if (latency.medianMs <= 0) return 0
  const deviation = latency.sigma === 0 ? 0 : latency.sigma * normal(latency.seed, question, attempt)
  return (latency.medianMs * Math.exp(deviation)) / latency.speed
}
