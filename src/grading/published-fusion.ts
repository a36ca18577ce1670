/** What verl's sandbox_fusion does with a response of code. Each test is a run of the whole program, on a machine of its own. */

import type { Json } from '../core/sample/sample.ts'
import { ownBuiltins } from './published-harness.ts'

/** Tests of which the score is a share. */
const fusionTests = 10
export const fusionSeconds = 10

/** The tests of a ground truth. `null` where it has none, and the score is 0. */
export interface FusionTests {
  readonly inputs: readonly Json[]
  readonly outputs: readonly Json[]
  readonly called: string | null
  /** Statements behind the program, one for each test. */
  readonly asserts: readonly string[] | null
}

/** Tests as the original reads them: missing lists are filled by `assert_case`. */
export function fusionTestsOf(truth: unknown): FusionTests | null {
  if (typeof truth !== 'object' || truth === null || Array.isArray(truth)) return null
  const { inputs, outputs, assert_case: given, fn_name: name } = truth as Readonly<Record<string, Json>>
  const asserts = Array.isArray(given) ? given.map(String) : null
  const filled = (list: unknown, one: Json): readonly Json[] | null =>
    Array.isArray(list) ? list : list === undefined && asserts ? asserts.map(() => one) : null
  const [some, others] = [filled(inputs, ''), filled(outputs, null)]
  if (some === null || others === null) return null
  const isWhole = some.length === others.length && (asserts === null || asserts.length === some.length)
  const called = typeof name === 'string' && name !== '' ? name : null
  return { inputs: some, outputs: isWhole ? others : [], called, asserts }
}

/** The last block of Python, else the first block of any language. null: there is none. Linear in the text. */
export function fusionProgram(response: string): string | null {
  const mark = '```'
  const python = response.lastIndexOf(`${mark}python`)
  const from = python >= 0 ? python + 9 : response.indexOf(mark) + 3
  if (from < 3) return null
  const end = response.indexOf(mark, from)
  const block = response.slice(from, end < 0 ? undefined : end)
  const [first = ''] = block.split('\n', 1)
  const isLanguage = python < 0 && block.includes('\n') && /^\p{L}+$/u.test(first.trim())
  return isLanguage ? block.slice(first.length + 1) : block
}

/** The program that runs the tests, and its cases; standard input comes as the program would read it. */
export function fusionRun(program: string, { inputs, outputs, called, asserts }: FusionTests) {
  const some = outputs.length === inputs.length ? inputs.slice(0, fusionTests) : []
  const source = `${program}\n\n`
  const whole = called === null ? source : `${fusionImports}\n${source}\n${callOf(called)}`
  const isPlain = asserts === null && some.every((input) => typeof input === 'string')
  if (isPlain)
    return {
      program: `${fusionHarness}\nenter(${JSON.stringify(whole)})\n`,
      cases: some.map((input) => ({ stdin: String(input) })),
    }
  const sourceOf = (at: number): string => (asserts === null ? whole : `${whole}${asserts[at]}`)
  return {
    program: fusionHarness,
    cases: some.map((input, at) => ({ call: 'enter', args: JSON.stringify([sourceOf(at), input]) })),
  }
}

/** What became of a test. */
interface Ran {
  readonly ended: string
  readonly stdout?: string
}

/** The results of the tests that count: true, false, -1 for lists of unequal length, -2 failed to run, -3 late. */
export function fusionResults({ inputs, outputs }: FusionTests, cases: readonly Ran[]): readonly Json[] {
  if (outputs.length !== inputs.length) return inputs.slice(0, fusionTests).map(() => -1)
  return inputs.slice(0, fusionTests).map((_, at) => {
    const { ended, stdout = '' } = cases[at] ?? { ended: 'exception' }
    if (ended !== 'ok') return ended === 'time' ? -3 : -2
    const wanted = outputs[at] ?? null
    if (wanted === null) return true
    return (
      withoutBreaks(stdout) === withoutBreaks(typeof wanted === 'string' ? wanted : JSON.stringify(wanted))
    )
  })
}

function withoutBreaks(text: string): string {
  let end = text.length
  while (text[end - 1] === '\n') end--
  return text.slice(0, end)
}

// cspell:disable
const starred =
  'string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json builtins typing'
/** The names that a program with `fn_name` finds. */
const fusionImports = [
  'import traceback',
  ...starred.split(' ').map((name) => `from ${name} import *`),
  `import ${starred.replace(' builtins typing', '').replaceAll(' ', ', ')}`,
].join('\n')

/** Python: calls the function with a JSON value a line and prints what it gives. It writes what the function raises to standard error and ends well. */
const callOf = (name: string): string => String.raw`
def _gateway_call(name):
    text = sys.stdin.read()
    try:
        arguments = [json.loads(line) for line in text.split("\n")] if text.strip() else []
    except json.JSONDecodeError as error:
        return print(error, file=sys.stderr)
    try:
        found = globals()[name] if name in globals() else getattr(Solution(), name) if "Solution" in globals() else None
        if not found:
            return print("no function", name, file=sys.stderr)
        given = found(*arguments)
    except Exception:
        return traceback.print_exc()
    is_json = given is None or isinstance(given, (dict, list, tuple, bool))
    print(json.dumps(given) if is_json else str(given))

_gateway_call(${JSON.stringify(name)})
`

/** Python: \`enter(source)\` runs a program as an interpreter of its own does, without the names of the sandbox's prelude. */
const fusionHarness = `${ownBuiltins}
import io, os, sys, traceback

own = {**own_builtins(), "exit": sys.exit, "quit": sys.exit}


def enter(source, text=None):
    if text is not None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(str(text).encode("utf-8", "surrogatepass")), "utf-8", "surrogateescape")
    names = {"__name__": "__main__", "__builtins__": own}
    sys.setrecursionlimit(1000)
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(4300)
    try:
        exec(compile(source, "program.py", "exec", dont_inherit=True), names)
    except SystemExit as stop:
        if stop.code not in (None, 0):
            leave(1)
    except BaseException:
        traceback.print_exc()
        leave(1)


def leave(code, flush=(sys.stdout.flush, sys.stderr.flush), end=os._exit):
    for one in flush:
        one()
    end(code)
`
