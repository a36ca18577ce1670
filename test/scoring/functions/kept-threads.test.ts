/** What a reload keeps of the functions: the threads of the package's own. */
import { createHook } from 'node:async_hooks'
import t from 'tap'
import { openFunctions } from '../../../src/scoring/functions/open-functions.ts'
import { failureOf, numberOf, score } from '../../support/function-calls.ts'

const options = { folders: [], sampleTimeoutMs: 5000, threads: 1 }
const right = 'So the answer is \\boxed{\\frac{1}{2}}.'

let started = 0
createHook({
  init: (_id, type) => {
    if (type === 'WORKER') started += 1
  },
}).enable()

t.test('a reload keeps the threads, and whoever closes first leaves them to the other', async (t) => {
  const before = await openFunctions(options)
  const old = await before.bind('math-verify', {})
  t.equal(numberOf(await score(before, old, right, '0.5')), 1)
  const running = started
  t.ok(running > 0, 'the rule runs in a thread')
  const after = await openFunctions(options, before)
  t.teardown(() => after.close())
  const rule = await after.bind('math-verify', {})
  const last = score(before, old, right, '0.5')
  await before.close()
  t.equal(numberOf(await last), 1, 'a row under way when its host closes is scored')
  t.match(failureOf(await score(before, old, right, '0.5')), /^cancelled/)
  t.equal(numberOf(await score(after, rule, right, '0.5')), 1)
  t.equal(started, running)
})

t.test('a reload with another time limit has threads of its own', async (t) => {
  const before = await openFunctions(options)
  await before.bind('math-verify', {})
  const running = started
  const after = await openFunctions({ ...options, sampleTimeoutMs: 1000 }, before)
  t.teardown(() => Promise.all([before.close(), after.close()]))
  await after.bind('math-verify', {})
  t.ok(started > running)
})

t.test('a refused reload leaves the threads to those that are served', async (t) => {
  const before = await openFunctions(options)
  t.teardown(() => before.close())
  const rule = await before.bind('math-verify', {})
  const folder = t.testdir({ 'broken.ts': 'export default 1' })
  await t.rejects(openFunctions({ ...options, folders: [folder] }, before), { code: 'RG_FUNCTION_INVALID' })
  t.equal(numberOf(await score(before, rule, right, '0.5')), 1)
})
