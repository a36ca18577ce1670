/**
 * Runs the test files named in TEST_FILES (JSON) one after the other in this process, each as a test of its name. Starting Node and loading
 * tap and the gateway costs more than most of these files. What a file does with tap's root happens to its own test, so that what it
 * opened is closed before the next file begins. After each file comes a line `# counted {…}`: what tap counted, and milliseconds.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

type Method = (...args: unknown[]) => unknown
/** What a file may call outside of its tests. */
const ofFiles =
  'test teardown before testdir setTimeout skip todo pass fail ok notOk equal not same notSame match notMatch has type throws rejects resolves'
const root = t as unknown as Record<string, Method>

let current: Record<string, Method> | null = null
const { test, comment } = t
const limit = Number(process.env.TAP_TIMEOUT) * 1000
t.setTimeout(0)
for (const name of ofFiles.split(' ')) {
  const ofRoot = root[name] as Method
  root[name] = (...args) => ((current?.[name] as Method | undefined) ?? ofRoot)(...args)
}

for (const file of JSON.parse(process.env.TEST_FILES ?? '[]') as string[]) {
  let counts: object = { total: 0 }
  const begun = performance.now()
  await test(file, { timeout: limit }, async (t) => {
    current = t as unknown as Record<string, Method>
    t.teardown(() => {
      counts = t.assertTotals
    })
    await import(pathToFileURL(resolve(file)).href)
  })
  current = null
  comment(`counted ${JSON.stringify({ ...counts, ms: performance.now() - begun })}`)
}
