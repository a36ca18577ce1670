/**
 * The code that one warm judged sample runs through: POST /v1/score with one row, a rule that opens a gate, and a judge.
 * Prints the files and functions that run by V8's coverage, and how often the order of execution goes on in another file.
 * `--list` also names the files in the order in which they are first entered. `--build FOLDER` measures another built checkout.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startScript } from './measured-process.ts'
import { median } from './quantile.ts'

const { values } = parseArgs({
  options: {
    build: { type: 'string', default: '.' },
    list: { type: 'boolean', default: false },
  },
})
const port = 8492
const warmUp = 50
const measured = 9

interface Ran {
  readonly ran: readonly (readonly [file: string, functions: number])[]
  readonly entered: readonly string[]
}

const judge = await startScript('judge-server', 8491)
const serve = [
  'serve',
  '--config',
  'bench/configs/gated.yaml',
  '--port',
  String(port),
  '--log-level',
  'error',
]
const child = fork(join(resolve(values.build), 'dist/src/cli/main.js'), serve, {
  execArgv: ['--import', new URL('sample-path-probe.js', import.meta.url).href],
  env: { ...process.env, BENCH_JUDGE: judge.url },
})
process.once('exit', () => child.kill())

let serial = 0
async function score(): Promise<void> {
  const prompt = `How many apples are there on day ${serial++}?`
  const response = `There are ${serial} apples.`
  const answer = await fetch(`http://127.0.0.1:${port}/v1/score`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ reward: 'gated', samples: [{ prompt, response, ground_truth: response }] }),
  })
  const { results } = (await answer.json()) as { results: { reward: number }[] }
  if (results[0]?.reward !== 2) throw new Error(`not scored by both: ${JSON.stringify(results)}`)
}

async function takeWhatRan(): Promise<Ran> {
  child.send('take')
  const [ran] = (await once(child, 'message')) as [Ran]
  return ran
}

const isReady = () =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
while (!(await isReady())) await new Promise((resolve) => setTimeout(resolve, 100))
for (let sent = 0; sent < warmUp; sent++) await score()

const samples: Ran[] = []
for (let sent = 0; sent < measured; sent++) {
  // What still follows from the sample before belongs to it.
  await new Promise((resolve) => setTimeout(resolve, 300))
  await takeWhatRan()
  await score()
  await new Promise((resolve) => setTimeout(resolve, 300))
  samples.push(await takeWhatRan())
}
child.kill()
await judge.stop()

const fileOf = (place: string) => place.slice(0, place.lastIndexOf(':'))
/** The files of places in order, each as often as the order comes to it from another file. */
const visits = (entered: readonly string[]) =>
  entered.map(fileOf).filter((file, at, files) => file !== files[at - 1])

const figures: Readonly<Record<string, (sample: Ran) => number>> = {
  files: ({ ran }) => ran.length,
  functions: ({ ran }) => ran.reduce((sum, [, count]) => sum + count, 0),
  'changes of file': ({ entered }) => visits(entered).length - 1,
  'changes of file, if each function is read once': ({ entered }) => visits([...new Set(entered)]).length - 1,
}
for (const [name, figure] of Object.entries(figures)) {
  const all = samples.map(figure)
  console.log(`${name}: ${median(all)} (${Math.min(...all)} to ${Math.max(...all)})`)
}
if (values.list) {
  const [sample] = samples.toSorted((one, other) => one.ran.length - other.ran.length)
  const functions = new Map(sample?.ran)
  const order = visits(sample?.entered ?? [])
  for (const file of new Set(order))
    console.log(
      `${file}: ${functions.get(file)} functions, ${order.filter((other) => other === file).length} visits`,
    )
}
