import t from 'tap'
import { CancelToken } from '../../../src/scoring/models/interface/cancel-token.ts'

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
