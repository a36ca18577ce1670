let waiting: (() => void)[] = []
let isDue = false

/** What one turn of the loop spends on it, milliseconds: to write the questions of a burst may take long. */
const turnMs = 10

/**
 * Runs `fn`, which must not throw, after the events of this turn of the loop, together with all that came before it.
 * Answers that arrive together are worked on together: alternating with the reading of sockets costs more.
 */
export function batchInImmediate(fn: () => void): void {
  waiting.push(fn)
  due()
}

function due(): void {
  if (!isDue) setImmediate(runAll)
  isDue = true
}

/** In their order; what the time did not suffice for is done in the next turn. */
function runAll(): void {
  const all = waiting
  waiting = []
  isDue = false
  const until = performance.now() + turnMs
  for (const [index, fn] of all.entries()) {
    fn()
    if (performance.now() < until) continue
    const rest = all.slice(index + 1)
    // What `fn` brought comes behind what was there before.
    waiting = rest.concat(waiting)
    if (waiting.length > 0) due()
    return
  }
}
