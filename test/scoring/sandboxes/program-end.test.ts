import t from 'tap'
import type { ProgramCase } from '../../../src/contract/execution.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { LocalSandbox } from '../../../src/scoring/sandboxes/local-sandbox.ts'
import type { Sandbox } from '../../../src/scoring/sandboxes/sandbox.ts'
import { localConfig } from '../../../src/scoring/sandboxes/sandbox-config.ts'
import { fusionServer, sandboxAt } from '../../support/fusion.ts'
import { withoutSandbox } from '../../support/sandbox.ts'

const skip = await withoutSandbox()
const limits = { cpuSeconds: 4, wallSeconds: 8, memoryMb: 256 }

/** The local sandbox, and the code that runs programs on servers of SandboxFusion. */
async function sandboxes(): Promise<readonly (readonly [string, Sandbox])[]> {
  const local = new LocalSandbox('local', localConfig.parse({ programs: 1 }), systemClock)
  const fusion = sandboxAt(t, await fusionServer())
  t.teardown(() => local.close())
  return [
    ['local', local],
    ['fusion', fusion],
  ]
}

const all = skip ? [] : await sandboxes()

async function only(sandbox: Sandbox, program: string, one: ProgramCase) {
  const execution = { language: 'python', program, cases: [one], limits } as const
  const deadline = systemClock.now() + 60_000
  const outcome = await sandbox.run({ execution, deadline, signal: new AbortController().signal })
  if ('failure' in outcome) throw new Error(`${outcome.failure.kind}: ${outcome.failure.detail}`)
  return outcome.result.cases[0]
}

const twice: ProgramCase = { stdin: '21', expected: { stdout: '42' } }
const print = 'print(int(input()) * 2)'

/** Programs that print 42 for 21 under python3. */
const streams: Readonly<Record<string, string>> = {
  'another text stream on the same buffer': `import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")\n${print}`,
  'a text stream that nobody assigns':
    'import sys, io\nw = io.TextIOWrapper(sys.stdout.buffer)\nw.write(str(int(input()) * 2))',
  'open(1)': `import sys\nsys.stdout = open(1, "w")\n${print}`,
  'os.fdopen': `import sys, os\nsys.stdout = os.fdopen(1, "w", 1 << 16)\n${print}`,
  '/dev/stdout that is not closed': 'out = open("/dev/stdout", "w")\nout.write(str(int(input()) * 2))',
  'a buffered writer that is not closed':
    'import io\nw = io.BufferedWriter(io.FileIO(1, "w"))\nw.write(b"42")',
  'a file in a function that is not closed':
    'def f():\n    open(1, "w", closefd=False).write(str(int(input()) * 2))\nf()',
  'codecs.getwriter': `import sys, codecs\nsys.stdout = codecs.getwriter("utf8")(sys.stdout.buffer)\n${print}`,
  'detached streams': `import sys, io\nsys.stdin = io.TextIOWrapper(sys.stdin.detach())\nsys.stdout = io.TextIOWrapper(sys.stdout.detach(), line_buffering=True)\n${print}`,
  'a closed stdout': `import sys\n${print}\nsys.stdout.close()`,
  'a closed stderr': `import sys\n${print}\nsys.stderr.close()`,
  'a closed descriptor 2': `import os\n${print}\nos.close(2)`,
  'no stdout at the end': `import sys\n${print}\nsys.stdout.flush()\nsys.stdout = None`,
  'a function of atexit': `import sys, io, atexit\nbuffer = io.StringIO()\nsys.stdout = buffer\natexit.register(lambda: sys.__stdout__.write(buffer.getvalue()))\n${print}`,
  'a function of atexit that fails': `import atexit\natexit.register(lambda: 1 / 0)\n${print}`,
  'a function of atexit after sys.exit': 'import atexit, sys\natexit.register(print, 42)\nsys.exit()',
  'a thread that is not joined': `import threading, time\ndef later():\n    time.sleep(0.2)\n    ${print}\nthreading.Thread(target=later).start()`,
  'an executor that is not shut down':
    'from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor(2).submit(print, 42)',
  'reconfigured streams': `import sys\nsys.stdin.reconfigure(encoding="utf-8")\nsys.stdout.reconfigure(line_buffering=True)\n${print}`,
  'modes and names': `import sys\nassert (sys.stdin.mode, sys.stdout.mode, sys.stderr.mode) == ("r", "w", "w")\nassert (sys.stdin.name, sys.stdout.name, sys.stderr.name) == ("<stdin>", "<stdout>", "<stderr>")\n${print}`,
  'standard input that is read twice':
    'import sys\nn = int(sys.stdin.readline())\nsys.stdin.seek(0)\nprint(n + int(sys.stdin.read()))',
  'quit()': `${print}\nquit()`,
  'exit(0)': `${print}\nexit(0)\nprint(1)`,
  'names of a script': `import os\nassert os.path.basename(__file__).endswith(".py") and __name__ == "__main__" and __spec__ is None\n__builtins__.print(42)\nhelp`,
  'the main module': 'import __main__\nx = 42\nprint(__main__.x)',
  'integers of many digits': 'print(42 if len(str(10 ** 5000)) == 5001 else 0)',
  'bytes that are no text beside it': `import os\nos.write(2, b"\\xff")\n${print}`,
}

t.test('a program writes to standard output as under python3', { skip }, async (t) => {
  for (const [where, sandbox] of all)
    for (const [what, program] of Object.entries(streams)) {
      const result = await only(sandbox, program, twice)
      t.equal(result?.passed, true, `${where}: ${what}: ${result?.ended} ${result?.error}`)
    }
})

t.test('how it ended is still told', { skip }, async (t) => {
  const table: readonly (readonly [string, string, boolean])[] = [
    [`${print}\nexit(3)`, 'exit', false],
    [`${print}\n1 / 0`, 'exception', false],
    [`import atexit, os\natexit.register(os._exit, 0)\n1 / 0`, 'ok', false],
    [`import os\nos.close(1)\n${print}`, 'any', false],
    ['import sys\nsys.stdout.write("42")\nsys.stdout.flush()\nsys.stdout.detach()', 'any', true],
  ]
  for (const [where, sandbox] of all)
    for (const [program, ended, passed] of table) {
      const result = await only(sandbox, program, twice)
      if (ended !== 'any') t.equal(result?.ended, ended, `${where}: ${program}`)
      if (!(where === 'fusion' && ended === 'any')) t.equal(result?.passed, passed, `${where}: ${program}`)
    }
})

t.test('a case that asks for a value does not run what stands below __name__', { skip }, async (t) => {
  const program = 'def f(x): return (x, __name__ == "__main__")\nif __name__ == "__main__":\n    1 / 0'
  const cases: readonly ProgramCase[] = [
    { call: 'f', args: '[7]', expected: { json: '[7, false]' } },
    { value: 'f(7)', expected: { python: '(7, False)' } },
    { value: 'f(7)', expected: { holds: '_ == (7, False)' } },
    { check: 'assert f(7) == (7, False)' },
  ]
  const named = `import pickle, sys, typing
from dataclasses import dataclass
@dataclass
class P:
    x: "int"
def f(x):
    assert sys.modules[P.__module__].P is P and typing.get_type_hints(P) == {"x": int}
    return pickle.loads(pickle.dumps(P(x))).x, False`
  for (const [where, sandbox] of all)
    for (const one of cases) {
      t.equal((await only(sandbox, program, one))?.passed, true, `${where}: ${JSON.stringify(one)}`)
      t.equal(
        (await only(sandbox, named, one))?.passed,
        true,
        `${where}, with classes: ${JSON.stringify(one)}`,
      )
    }
})
