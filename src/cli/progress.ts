import type { EvaluationEvents } from '../workbench/evaluation/evaluation.ts'
import type { Io } from './command.ts'

/** A line that is rewritten in place on a terminal, and absent elsewhere. */
export interface Progress {
  /** The counts that were added. */
  add(rows: number, invalid: number): void
  end(): void
}

/** The content of a progress line. */
interface ProgressSource {
  /** The share of the work that is done, 0 to 1, with this many rows done, those of an earlier run included. null: unknown. */
  fraction(done: number): number | null
  /** Judge calls so far. */
  calls(): number
  /** Rows that were done by an earlier run. */
  readonly done: number
}

const refreshMs = 100
/** How often the line is shown while nothing is done. */
const tickMs = 1000

const barWidth = 20

/** A share of 0 to 1 as blocks. */
function bar(part: number): string {
  const full = Math.round(Math.min(1, Math.max(0, part)) * barWidth)
  return '█'.repeat(full) + '░'.repeat(barWidth - full)
}

/** Writes to standard error. The time left is estimated from the share of the work that this run did. */
export function progressLine(io: Io, { fraction, calls, done: before }: ProgressSource): Progress {
  const started = performance.now()
  let [done, invalid, shown] = [0, 0, 0]
  const show = () => {
    const seconds = (performance.now() - started) / 1000
    const part = fraction(before + done)
    const own = part === null ? 0 : part * (done / (before + done))
    const left = part !== null && own > 0 ? ((1 - part) / own) * seconds : null
    const pieces = [
      part === null ? '' : `${bar(part)} ${Math.floor(part * 100)} %`,
      `${before + done} scored`,
      `${invalid} invalid`,
      `${calls()} judge calls`,
      `${Math.round(done / seconds)}/s`,
      left === null ? '' : `${clockText(left)} left`,
    ]
    io.stderr.write(`\r\u001b[K${pieces.filter(Boolean).join(', ')}`)
  }
  // Judges may take minutes for the first rows.
  const ticks = io.stderr.isTTY ? setInterval(show, tickMs).unref() : undefined
  return {
    add(rows, failed) {
      done += rows
      invalid += failed
      const now = performance.now()
      if (!io.stderr.isTTY || now - shown < refreshMs) return
      shown = now
      show()
    },
    end() {
      if (!io.stderr.isTTY) return
      clearInterval(ticks)
      show()
      io.stderr.write('\n')
    },
  }
}

/** `1:02:03`, or `2:03` below an hour. */
const clockText = (seconds: number): string => {
  const whole = Math.round(seconds)
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60]
  return [...(h > 0 ? [h] : []), m, s].map((n, i) => (i > 0 ? String(n).padStart(2, '0') : n)).join(':')
}

const tableRefreshMs = 200
const columns = ['done', 'answers', 'failed', 'invalid', 'mean score', 'answers/s', 'left'] as const
const widths = columns.map((title) => Math.max(title.length, 9))

/** A table that grows by a line for each tenth of the work. On a terminal, the current line is rewritten below it. */
export function evaluateProgress(io: Io, name: string): EvaluationEvents & { end(): void } {
  const { stderr } = io
  const started = performance.now()
  let [total, before, sampled, failed, scored, invalid, sum] = [0, 0, 0, 0, 0, 0, 0]
  let [shown, tenths] = [0, 0]
  const line = (): string => {
    const seconds = Math.max((performance.now() - started) / 1000, 1e-3)
    const done = before + scored
    const left = scored > 0 ? ((total - done) / scored) * seconds : null
    const cells = [
      `${total === 0 ? 100 : Math.floor((done / total) * 100)} %`,
      `${done}/${total}`,
      String(failed),
      String(invalid),
      scored > invalid ? (sum / (scored - invalid)).toFixed(4) : '-',
      (sampled / seconds).toFixed(1),
      left === null ? '-' : clockText(left),
    ]
    return cells.map((cell, at) => cell.padStart(widths[at] ?? 0)).join('  ')
  }
  const clear = () => (stderr.isTTY ? '\r\u001b[K' : '')
  const tell = () => {
    const reached = total === 0 ? 10 : Math.floor(((before + scored) / total) * 10)
    if (reached > tenths) {
      tenths = reached
      stderr.write(`${clear()}${line()}\n`)
    }
    const now = performance.now()
    if (!stderr.isTTY || now - shown < tableRefreshMs) return
    shown = now
    stderr.write(`${clear()}${line()}`)
  }
  return {
    begun(answers, done) {
      ;[total, before] = [answers, done]
      tenths = total === 0 ? 0 : Math.floor((done / total) * 10)
      const titles = columns.map((title, at) => title.padStart(widths[at] ?? 0)).join('  ')
      stderr.write(`${name}\n${titles}\n`)
    },
    sampled(isGood) {
      sampled++
      if (!isGood) failed++
      tell()
    },
    scored(_source, outcomes) {
      for (const outcome of outcomes) {
        scored++
        if (outcome.valid) sum += outcome.reward
        else invalid++
      }
      tell()
    },
    end() {
      if (total > 0) stderr.write(`${clear()}${stderr.isTTY ? `${line()}\n` : ''}`)
    },
  }
}
