import t from 'tap'
import { CancelToken, pause } from '../../../src/scoring/models/interface/cancel-token.ts'
import { fakeClock } from '../../support/clock.ts'

t.test('listeners of a cancel token are called once, in order, unless they unsubscribed', async (t) => {
  for (const takenBack of [[], [0], [1], [0, 1], [2], [0, 1, 2], [1, 0]]) {
    const stop = new CancelToken()
    const heard: number[] = []
    const offs = [0, 1, 2].map((who) => stop.on(() => heard.push(who)))
    for (const who of takenBack) offs[who]?.()
    stop.on(() => heard.push(3))
    stop.stop()
    stop.stop()
    const rest = [0, 1, 2].filter((who) => !takenBack.includes(who))
    t.same(heard, [...rest, 3], `without ${takenBack.join(', ')}`)
    stop.on(() => heard.push(4))
    t.equal(heard.at(-1), 4, 'at once, where it was stopped')
  }
})

t.test('unsubscribing lets the next listener in, and unsubscribing twice removes nothing else', async (t) => {
  const stop = new CancelToken()
  const heard: string[] = []
  const off = stop.on(() => heard.push('first'))
  off()
  stop.on(() => heard.push('second'))
  off()
  stop.stop()
  t.same(heard, ['second'])
})

t.test('a pause that is cut short leaves no timer behind, which would keep the process', async (t) => {
  let timers = 0
  const clock = {
    ...fakeClock(),
    after: () => {
      timers++
      return () => void timers--
    },
  }
  const stop = new CancelToken()
  const pausing = pause(clock, 60_000, stop)
  t.equal(timers, 1)
  stop.stop()
  await pausing
  t.equal(timers, 0)
})
