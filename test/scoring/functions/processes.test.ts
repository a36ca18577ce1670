import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { BoundedOutput } from '../../../src/scoring/functions/child-process.ts'
import { FrameReader, frame, hasMoreValues } from '../../../src/scoring/functions/frames.ts'
import { failureOf, numberOf, openWith, score } from '../../support/function-calls.ts'
import { withoutPython } from '../../support/python.ts'
import { rule } from './author-files.ts'

/** Whether a process runs; a zombie does not. */
const runs = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

const gone = async (pid: number): Promise<boolean> => {
  for (let tries = 0; tries < 100 && runs(pid); tries++)
    await new Promise((resolve) => setTimeout(resolve, 50))
  return !runs(pid)
}

const starts = {
  'starts.mjs': rule(
    "const child = spawn('sleep', ['600']); return { value: 1, details: { pid: child.pid, own: process.pid } }",
  ).replace('import', "import { spawn } from 'node:child_process'\nimport"),
  'starts_py.py': `
import os, subprocess
def compute_score(solution_str):
    child = subprocess.Popen(["python3", "-c", "while True: pass"])
    return {"score": 1, "pid": child.pid, "own": os.getpid()}
`,
}

const skip = withoutPython || (existsSync('/proc/self/stat') ? false : 'there is no /proc')

t.test('processes that a function starts end with its process', { skip }, async (t) => {
  const host = await openWith([t.testdir(starts)])
  const pids: number[] = []
  for (const name of ['starts', 'starts_py']) {
    const result = await score(
      host,
      await host.bind(name, { ...(name === 'starts_py' && { range: [0, 1] }) }),
      'x',
    )
    t.equal(numberOf(result), 1)
    const { pid, own } = (result as unknown as { verdicts: { details: { pid: number; own: number } }[] })
      .verdicts[0]!.details
    t.ok(runs(pid) && own !== process.pid)
    pids.push(pid, own)
  }
  await host.close()
  for (const pid of pids) t.ok(await gone(pid))
})

t.test('the processes of functions, hung or not, end with a gateway that is killed', { skip }, async (t) => {
  const folder = t.testdir({
    fns: {
      'hangs.mjs': rule("process.stderr.write('pid ' + process.pid + '\\n'); for (;;) {}"),
      'hangs_py.py':
        'import os\ndef compute_score(solution_str):\n    print("pid", os.getpid(), flush=True)\n    while True: pass\n',
    },
  })
  const module = pathToFileURL(join(import.meta.dirname, '../../support/function-calls.js')).href
  const code = `import { openWith, score } from ${JSON.stringify(module)}
const host = await openWith([${JSON.stringify(join(folder, 'fns'))}], { sampleTimeoutMs: 600000 })
for (const name of ['hangs', 'hangs_py']) void score(host, await host.bind(name, {}), 'x')`
  const gateway = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  const pids = await new Promise<number[]>((resolve) => {
    gateway.stderr.on('data', (bytes) => {
      said += bytes
      const found = [...said.matchAll(/pid (\d+)\n/g)].map(([, pid]) => Number(pid))
      if (found.length === 2) resolve(found)
    })
  })
  t.ok(pids.every(runs))
  gateway.kill('SIGKILL')
  for (const pid of pids) t.ok(await gone(pid))
})

t.test('memory of a JavaScript function is bounded, outside of its heap too (M8)', async (t) => {
  const folder = t.testdir({
    'takes.mjs': rule(
      'const held = []; for (let n = 0; n < 40; n++) held.push(Buffer.alloc(16 << 20, 1)); return 1',
    ),
    'fits.mjs': rule('return Buffer.alloc(16 << 20, 1).length > 0 ? 1 : 0'),
  })
  const host = await openWith([folder], { memoryMb: 256, sampleTimeoutMs: 20_000 })
  t.teardown(() => host.close())
  const results = await Promise.all(
    ['takes', 'fits', 'takes'].map(async (name) => score(host, await host.bind(name, {}), 'x')),
  )
  // What the limit leaves may be too little for V8 itself, which then ends the process.
  const refused = /^rule_error: score (threw RangeError at takes\.mjs|ended its worker twice)/
  t.match(failureOf(results[0]!), refused)
  t.equal(numberOf(results[1]!), 1)
  t.match(failureOf(results[2]!), refused)
})

t.test('printed output is bounded, and a flood is read slowly (M8)', async (t) => {
  let now = 0
  const written: string[] = []
  const output = new BoundedOutput(
    (text) => written.push(String(text)),
    () => now,
  )
  const size = () => written.join('').length
  t.equal(output.pass(Buffer.from('a line\n')), 0)
  t.equal(written.join(''), 'a line\n')
  const flood = Buffer.alloc(65_536, 120)
  let read = 0
  let mostRead = 0
  for (let second = 0; second < 60; second++) {
    now = second * 1000
    for (let piece = 0; piece < 10_000; piece++) {
      read += flood.length
      if (output.pass(flood) > 0) break
    }
    mostRead = Math.max(mostRead, read)
    read = 0
  }
  t.ok(mostRead <= 9 * 2 ** 20, `${mostRead} bytes a second are read`)
  t.ok(size() < 1.5 * 2 ** 20, `${size()} bytes in a minute`)
  t.match(written.join(''), /more than is passed on/)
  t.match(written.join(''), /\[\d+ bytes that reward functions printed are left out\]/)
})

const frameReader = () => {
  const texts: string[] = []
  return { texts, reader: new FrameReader((text) => texts.push(text)) }
}

t.test('messages come out whole, in whatever pieces their bytes arrive', async (t) => {
  const { texts, reader } = frameReader()
  for (const byte of Buffer.concat([frame('"é"'), frame('[1]'), frame('{}')]))
    t.ok(reader.read(Buffer.from([byte])))
  t.strictSame(texts, ['"é"', '[1]', '{}'])
})

t.test('a message that is too long or of too many values is refused before it is parsed (M5)', async (t) => {
  t.notOk(frameReader().reader.read(Buffer.from([255, 255, 255, 255])), 'too long')
  t.notOk(frameReader().reader.read(frame(`[${'[],'.repeat(500_000)}1]`)), 'of too many values')
  const { texts, reader } = frameReader()
  const text = JSON.stringify(['[,]{}:"\\'.repeat(1_000_000)])
  t.ok(reader.read(frame(text)), 'one long text is one value')
  t.equal(texts.length, 1)
})

t.test('a comma inside a text separates no values', async (t) => {
  t.notOk(hasMoreValues(Buffer.from('["\\\\",2]'), 3))
  t.ok(hasMoreValues(Buffer.from('["\\\\",2,3,4]'), 3))
  t.ok(hasMoreValues(Buffer.from('["a","b","c","d"]'), 3))
})
