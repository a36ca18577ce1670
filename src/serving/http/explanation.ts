import type { Sample, Unreadable } from '../../core/sample/sample.ts'
import type { DrawnEvent } from '../../scoring/gateway/gateway.ts'
import { shownAsk } from '../telemetry/live/shown-ask.ts'
import { Draws } from '../telemetry/record/draws.ts'
import { textKeeper } from '../telemetry/record/text-policy.ts'

/** Of the questions and answers that one request keeps. */
const mostBytes = 256 * 1024 * 1024

/** The questions of one request and their answers, whole: whoever sent the samples may read what became of them. */
export class Explanation {
  readonly #draws = new Draws(mostBytes)

  add(event: DrawnEvent): void {
    this.#draws.add(event)
  }

  /** The JSON text of one row's questions by step, in pieces. */
  *textOf(row: Sample | Unreadable | undefined): Generator<string> {
    const own = row && !('failure' in row) ? this.#draws.of(row) : []
    const keep = textKeeper('full')
    const bySteps = new Map<string, DrawnEvent[]>()
    for (const drawn of own) {
      const known = bySteps.get(drawn.step)
      if (known) known.push(drawn)
      else bySteps.set(drawn.step, [drawn])
    }
    let before = '{'
    for (const [step, draws] of bySteps) {
      yield `${before}${JSON.stringify(step)}:`
      for (const [at, drawn] of draws.entries())
        yield `${at === 0 ? '[' : ','}${JSON.stringify(shownAsk(drawn, keep))}`
      yield ']'
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  }

  /** False where questions of the row found no room. */
  isWhole(row: Sample | Unreadable | undefined): boolean {
    return !row || 'failure' in row || this.#draws.isWhole(row)
  }
}
