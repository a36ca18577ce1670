import type { Io } from './command.ts'

/** A line that is rewritten on a terminal, and absent elsewhere. */
export interface Progress {
  /** `invalid` is the count so far, not of this addition. */
  add(rows: number, invalid: number): void
  end(): void
}

export function progressLine(io: Io): Progress {
  const started = performance.now()
  let done = 0
  let shown = 0
  return {
    add(rows, invalid) {
      done += rows
      const now = performance.now()
      if (!io.stderr.isTTY || now - shown < 100) return
      shown = now
      const rate = Math.round((done * 1000) / (now - started))
      io.stderr.write(`\r${done} scored, ${invalid} invalid, ${rate}/s `)
    },
    end() {
      if (io.stderr.isTTY) io.stderr.write('\n')
    },
  }
}
