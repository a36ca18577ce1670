/** A frame of the protocol between the gateway and its processes, as a function could forge it. */
const forge = `
const forge = (text) => {
  const bytes = Buffer.from(text)
  const head = Buffer.alloc(4)
  head.writeUInt32BE(bytes.length)
  fs.writeSync(3, Buffer.concat([head, bytes]))
}
/** Blocks its thread for ever, and no core. */
const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
const forgeAll = (ms, results) => {
  for (let n = 1; n < 99; n++)
    forge('{"chunk":' + n + ',"key":"' + n + '","end":true,"ms":' + ms + ',"results":' + results + '}')
}`

/**
 * What the function of \`hostile.mjs\` does where the response is the key. A forged message has another key than its chunk, so that
 * its results are not even read: what wrong results come to is tested in verdicts.test.ts.
 */
export const attacks = {
  post: 'parentPort.postMessage({ results: [] })',
  json: "JSON.parse = () => ({}); JSON.stringify = () => '1'; return 1",
  arrays:
    "Array.prototype.push = () => 0; Array.prototype.join = () => '[]'; Array.prototype.map = () => [7]; return 1",
  polluted: "Object.prototype.toJSON = () => 'x'; Object.prototype.value = 1; return { value: 1 }",
  promises: 'Promise.prototype.then = () => {}; return 1',
  killed: "process.kill(process.pid, 'SIGKILL')",
  parent: "process.kill(process.ppid, 'SIGKILL')",
  group: "process.kill(0, 'SIGKILL')",
  term: "process.kill(process.ppid, 'SIGTERM'); wait()",
  abort: 'process.abort()',
  exit: 'process.exit(0)',
  buffers: 'const held = []; for (;;) held.push(Buffer.alloc(64 << 20, 1))',
  heap: 'const held = []; for (;;) held.push(new Array(1000).fill(held))',
  flood: "for (;;) fs.writeSync(1, 'secret '.repeat(10000))",
  hang: 'for (;;) {}',
  await: 'return new Promise(() => {})',
  reject: "Promise.reject(new Error('late')); setTimeout(() => { throw new Error('late') }); return 1",
  leave: 'setTimeout(() => process.exit(1)); return 1',
  stall: 'setTimeout(wait); return 1',
  close: 'fs.closeSync(3); return 1',
  noise: "fs.writeSync(3, 'no message at all'); return 1",
  long: 'fs.writeSync(3, Buffer.from([255, 255, 255, 255])); return 1',
  ready: 'forge(\'"ready"\'); return 1',
  nothing: "forge('null'); return 1",
  forged: "forgeAll('[0]', '[1]'); return 1",
  deep: "forgeAll('[0]', '['.repeat(9999) + ']'.repeat(9999)); return 1",
  idle: 'fs.writeSync(4, Buffer.from([0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0]), 0, 12, 0); wait()',
  elsewhere: 'fs.writeSync(4, Buffer.alloc(12, 127), 0, 12, 0); wait()',
}

/** Attacks that are none for the protocol, or that come when the sample has been scored: it has its own score then. */
export const mayScore: ReadonlySet<string> = new Set([
  ...['json', 'promises', 'reject', 'leave', 'stall', 'parent', 'group', 'dumps', 'loads', 'thread', 'fork'],
])

/** Attacks by which the process does not say that it hangs in a row: it has the limit of one that begins nothing. */
export const silentAttacks: ReadonlySet<string> = new Set(['stall', 'idle', 'elsewhere'])

/** A folder whose function does what the response says. */
export const hostileFolder = {
  'hostile.mjs': `import fs from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { z } from 'zod'
import { defineRule } from 'reward-gateway/contract'
${forge}
const attacks = {
${Object.entries(attacks)
  .map(([name, body]) => `  ${name}() { ${body} },`)
  .join('\n')}
}
export default defineRule({ truth: z.unknown(), range: [0, 1], score: ({ sample }) => attacks[sample.response]?.() ?? 0.5 })
`,
}

/** A folder of another author. */
export const goodFolder = {
  'good.mjs': `import { z } from 'zod'
import { defineRule } from 'reward-gateway/contract'
export default defineRule({
  truth: z.string(), range: [0, 1], score: ({ sample, truth }) => (sample.response.trim().slice(0, 9) === truth ? 1 : 0),
})
`,
}

const pythonForge = `
def forge(text):
    data = text.encode()
    os.write(3, len(data).to_bytes(4, "big") + data)
`

/** The same in Python. */
export const pythonAttacks = {
  dumps: "json.dumps = lambda *a, **k: '[]'; json.JSONEncoder.encode = lambda *a: '[]'; return 1",
  loads: 'json.loads = lambda *a, **k: []; json.JSONDecoder.decode = lambda *a, **k: []; return 1',
  exit: 'os._exit(0)',
  killed: 'os.kill(os.getpid(), signal.SIGKILL)',
  parent: 'os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)',
  group: 'os.killpg(0, signal.SIGKILL)',
  fork: 'os.fork(); return 1',
  hang: 'while True: pass',
  flood: 'while True: os.write(1, b"secret " * 10000)',
  memory: 'return len(bytearray(3_000_000_000))',
  close: 'os.close(3); return 1',
  noise: 'os.write(3, b"no message at all"); return 1',
  many: 'for n in range(1, 99): forge(f\'{{"chunk":{n},"ms":[],"results":[{{}},{{}}]}}\')\n    return 1',
  forged:
    'for n in range(1, 99): forge(f\'{{"chunk":{n},"ms":[0],"results":[{{"verdict":{{"value":7}}}}]}}\')\n    return 1',
  odd: 'for n in range(1, 99): forge(f\'{{"chunk":{n},"ms":[0],"results":[{{"threw":[]}}]}}\')\n    return 1',
  thread: 'threading.Timer(0.01, lambda: os._exit(3)).start(); return 1',
}

/** A folder whose Python function does what the response says. */
export const hostilePython = {
  'hostile_py.py': `
import json, os, signal, threading, time
${pythonForge}
${Object.entries(pythonAttacks)
  .map(([name, body]) => `def attack_${name}():\n    ${body.replaceAll('; ', '\n    ')}\n`)
  .join('\n')}
def compute_score(solution_str):
    attack = globals().get("attack_" + solution_str)
    return 0.5 if attack is None else attack()
`,
  'stubborn.py': `
import asyncio

async def compute_score(solution_str):
    while solution_str == "never":
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            pass
    return 1
`,
}
