let waiting: (() => void)[] = []

/**
 * Runs `fn`, which must not throw, after the events of this turn of the loop, together with all that came before it.
 * Answers that arrive together are worked on together: alternating with the reading of sockets costs more.
 */
export function afterTurn(fn: () => void): void {
  if (waiting.push(fn) === 1) setImmediate(runAll)
}

function runAll(): void {
  const all = waiting
  waiting = []
  for (const fn of all) fn()
}
