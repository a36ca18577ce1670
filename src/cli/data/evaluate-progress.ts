import type { EvaluationEvents } from '../../workbench/evaluation/evaluation.ts'
import type { Io } from '../command.ts'
import { clockText } from '../progress.ts'

const refreshMs = 200
const columns = ['done', 'answers', 'failed', 'invalid', 'mean score', 'answers/s', 'left'] as const
const widths = columns.map((title) => Math.max(title.length, 9))

/** A table that grows by a line each tenth of the way; on a terminal the line in work is rewritten below it. */
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
    if (!stderr.isTTY || now - shown < refreshMs) return
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
