/** Cases per second of CPU of reward functions on files of vectors, one thread, and the detector of loops on 1 MB of text. */
import { readFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { hasLoop } from '../src/extract/index.ts'
import { adapters } from '../test/vectors/index.ts'
import { bothModes, type Vector } from '../test/vectors/vector.ts'

const seconds = 1
const paths = process.argv.slice(2)
if (paths.length === 0) console.log('No vector files were named: only the detector of loops is measured.')
console.log(`node ${process.version}, one thread`)

for (const path of paths) {
  const [folder, file] = [basename(dirname(resolve(path))), basename(path, '.jsonl')]
  const answers = adapters[folder]?.answers ?? {}
  const vectors = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Vector => JSON.parse(line))
  for (const mode of bothModes.has(file) ? (['reference', 'sound'] as const) : (['reference'] as const)) {
    const pass = (): number => {
      for (const vector of vectors) {
        try {
          answers[Object.hasOwn(answers, file) ? file : String(vector.function)]?.(vector, mode)
        } catch {
          // An error is an answer, as in `npm run vectors`.
        }
      }
      return vectors.length
    }
    pass()
    const start = busyMs()
    let count = 0
    while (busyMs() - start < seconds * 1000) count += pass()
    console.log(`${folder}/${file} (${mode}): ${Math.round((count * 1000) / (busyMs() - start))} cases/s`)
  }
}

/** The process's own time, so that other work on the machine does not count. */
function busyMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

let state = 1
const random = (): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return state / 2 ** 32
}
const letters = Array.from({ length: 1_000_000 }, () => String.fromCharCode(97 + random() * 26)).join('')
let nearLoops = ''
while (nearLoops.length < 1_000_000) nearLoops += `${'a'.repeat(60 + Math.floor(random() * 38))}b`
for (const [name, text] of Object.entries({ letters, nearLoops })) {
  hasLoop(text)
  const start = busyMs()
  hasLoop(text)
  console.log(`loops in 1 MB of ${name}: ${Math.round(busyMs() - start)} ms`)
}
