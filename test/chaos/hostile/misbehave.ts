import { setImmediate as later } from 'node:timers'
import { parentPort } from 'node:worker_threads'
import { defineRule } from 'reward-gateway/contract'
import { z } from 'zod'

/** Does to its process what the response names, and then gives a score that it may not give. */
export default defineRule({
  truth: z.unknown(),
  range: [0, 1],
  score({ sample: { response } }) {
    switch (response) {
      case 'hang':
        for (;;);
      case 'throw':
        throw new Error('asked to')
      case 'exit':
        return process.exit(0)
      case 'abort':
        return process.abort()
      case 'kill':
        process.kill(process.pid, 'SIGKILL')
        break
      case 'terminate':
        process.kill(process.pid, 'SIGTERM')
        break
      case 'forge':
        parentPort?.postMessage({ results: [], ms: [], scores: '[{}]', others: [] })
        process.send?.({ results: [], ms: [], scores: '[{}]', others: [] })
        break
      case 'patch':
        JSON.stringify = () => '1'
        JSON.parse = () => ({})
        Map.prototype.get = () => undefined
        String.prototype.trim = () => '42'
        break
      case 'flood':
        for (let line = 0; line < 200; line++) process.stdout.write(`${'x'.repeat(100_000)}\n`)
        break
      case 'late':
        later(() => {
          throw new Error('too late')
        })
        break
      case 'leak': {
        const kept: Buffer[] = []
        for (let mebi = 0; mebi < 1024; mebi += 64) kept.push(Buffer.alloc(64 << 20, 1))
        break
      }
    }
    return Number.NaN
  },
})

/** What it does. */
export const deeds = [
  'hang',
  'throw',
  'exit',
  'abort',
  'kill',
  'terminate',
  'forge',
  'patch',
  'flood',
  'late',
  'leak',
  'nan',
] as const
