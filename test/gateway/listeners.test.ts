import t from 'tap'
import type { EngineEvents } from '../../src/engine/events.ts'
import { allOf } from '../../src/gateway/listeners.ts'

t.test('every listener hears what it listens to, and nobody listens in vain', async (t) => {
  const heard: string[] = []
  const guarded = { reward: 'r', step: 's', parts: ['fence'] }
  const one: EngineEvents = { guarded: ({ step }) => void heard.push(`one ${step}`) }
  const two: EngineEvents = {
    guarded: ({ parts }) => void heard.push(`two ${parts}`),
    done: ({ run }) => void heard.push(`done ${run}`),
  }
  const all = allOf([one, null, two, undefined])
  t.strictSame(Object.keys(all).sort(), ['done', 'guarded'])
  all.guarded?.(guarded)
  t.strictSame(heard, ['one s', 'two fence'])
  t.equal(allOf([two]).done, two.done)
})
