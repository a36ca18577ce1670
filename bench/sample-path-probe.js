/**
 * Loaded before the server by bench/sample-path.ts. Each message of the parent is answered with what ran since the last one:
 * functions by V8's coverage, and the order in which functions were entered, which coverage does not know.
 */
import { Session } from 'node:inspector/promises'
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { parse } from 'acorn'

const own = /^file:.*\/dist\/((?:src|reward-functions)\/.*)$/
const recorder = 'globalThis.entered?.'

/** A loader hook: every function of the package names its place when it is entered. */
export async function load(url, context, next) {
  const loaded = await next(url, context)
  const file = own.exec(url)?.[1]
  if (file === undefined || loaded.format !== 'module') return loaded
  return { ...loaded, source: instrumented(file, String(loaded.source)) }
}

function instrumented(file, text) {
  const insertions = []
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return
    const { type, body } = node
    if (/^(Arrow)?Function(Expression|Declaration)$/.test(type)) {
      const call = `${recorder}(${JSON.stringify(`${file}:${node.start}`)})`
      if (body.type === 'BlockStatement') insertions.push([body.start + 1, `${call};`])
      else insertions.push([body.start, `(${call},(`], [body.end, '))'])
    }
    for (const child of Object.values(node)) visit(child)
  }
  visit(parse(text, { ecmaVersion: 'latest', sourceType: 'module' }))
  // From the end, so that places stay true.
  insertions.sort(([one], [other]) => other - one)
  return insertions.reduce((whole, [at, what]) => whole.slice(0, at) + what + whole.slice(at), text)
}

async function answerParent() {
  let entered = []
  globalThis.entered = (place) => void entered.push(place)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  process.on('message', async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ran = result.flatMap(({ url, functions }) => {
      const file = own.exec(url)?.[1]
      const count = functions.filter(({ ranges }) => ranges[0].count > 0).length
      return file === undefined || count === 0 ? [] : [[file, count]]
    })
    process.send({ ran, entered })
    entered = []
  })
  process.channel?.unref()
}

if (isMainThread && process.send !== undefined) {
  register(import.meta.url)
  await answerParent()
}
