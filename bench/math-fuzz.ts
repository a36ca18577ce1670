/** LaTeX by grammar and by mutation through `math-verify`: throws, slowest input, memory. `jiti bench/math-fuzz.ts [COUNT] [SEED]`. */
import { readMathTruth, verifyMath } from '../src/extract/math/index.ts'
import { LatexFuzz } from '../test/support/latex-fuzz.ts'

const [count = 100_000, seed = 7] = process.argv.slice(2).map(Number)
const how = { precision: 6, strict: true, relationAsSet: false }
const known = ['42', '\\frac{\\sqrt3}{2}', '(1,2)', 'x > 5'].map((text) => readMathTruth(text))
const fuzz = new LatexFuzz(seed)

let [throws, unread, unlikeItself, slowest] = [0, 0, 0, 0]
let slowestText = ''
const times: number[] = []
const memory = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().rss / 2 ** 20
}

let before = 0
const start = performance.now()
for (let k = 0; k < count; k++) {
  // Code is compiled and tables are filled by then.
  if (k === 2000) before = memory()
  const text = fuzz.next()
  const { user } = process.cpuUsage()
  try {
    const truth = readMathTruth(text)
    if (truth === null) unread++
    else if (verifyMath(truth, text, how).decision === null) unlikeItself++
    const other = known[k % known.length]
    if (other) verifyMath(other, text, how)
  } catch (error) {
    throws++
    console.log(JSON.stringify(text), error)
  }
  const ms = (process.cpuUsage().user - user) / 1000
  times.push(ms)
  if (ms > slowest) [slowest, slowestText] = [ms, text]
}
const grown = memory() - before
times.sort((a, b) => a - b)
console.log({
  inputs: count,
  seed,
  throws,
  unread,
  unlikeItself,
  'median CPU ms': times[count >> 1],
  'p99.9 CPU ms': times[Math.floor(count * 0.999)],
  'slowest CPU ms': slowest,
  slowestText: slowestText.slice(0, 200),
  'MiB grown': Number(grown.toFixed(1)),
  seconds: Number(((performance.now() - start) / 1000).toFixed(1)),
})
