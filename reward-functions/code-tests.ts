import { z } from 'zod'
import {
  BadSample,
  type CaseEnd,
  defineProgramReward,
  type ExecutionResult,
  mode,
  type ProgramCase,
  type Score,
} from '../src/contract/index.ts'
import { readAssert } from '../src/grading/assertion.ts'
import { isPacked, unpacked } from '../src/grading/packed-tests.ts'
import { programFences, programIn } from '../src/grading/program.ts'
import { codeGraders, lcbStyles, publishedExecution, publishedScore } from '../src/grading/published-code.ts'
import { completed, readSetup, referenceTests, withAhead } from '../src/grading/python-program.ts'

const name = z.string().regex(/^[^\W\d]\w*$/)
/** verl, LiveCodeBench, NeMo Gym. */
const lists = z.object({
  inputs: z.array(z.string()),
  outputs: z.array(z.string()),
  fn_name: z.string().nullish(),
})
/** Open-Instruct's standard input and LiveCodeBench's own rows. */
const pairs = z
  .array(z.object({ input: z.string(), output: z.string(), testtype: z.string().optional() }))
  .min(1)
const statements = z.array(z.string()).min(1)
/** verl. */
const assertCases = z.object({ assert_case: statements })
/** MBPP. */
const mbpp = z.object({
  test_list: statements,
  challenge_test_list: z.array(z.string()).optional(),
  test_setup_code: z.string().optional(),
  test_imports: z.array(z.string()).optional(),
})
/** HumanEval. */
const humanEval = z.object({ test: z.string().min(1), entry_point: name, prompt: z.string().default('') })
/** EvalPlus. */
const evalPlus = z.object({
  entry_point: name,
  canonical_solution: z.string().min(1),
  base_input: z.array(z.array(z.json())),
  plus_input: z.array(z.array(z.json())).default([]),
  prompt: z.string().default(''),
  atol: z.number().min(0).max(1).default(0),
})
/** NeMo Gym, whose tests may be packed. */
const packed = z.object({ packed: z.string(), fn_name: z.string().nullish() })
const unitTests = z.object({ unit_tests: z.union([lists, packed]) })
/** LiveCodeBench: the grader's input, or a row whose private tests are JSON text or packed. */
const inputOutput = z.object({ input_output: z.union([z.string(), lists]) })
const lcbTests = z.union([pairs, z.string()])
const lcbRow = z.object({
  public_test_cases: lcbTests.optional(),
  private_test_cases: lcbTests,
  metadata: z.union([z.string(), z.object({ func_name: z.string().nullish() })]).optional(),
})
const packedPairs = z.string().refine(isPacked, 'expected JSON, or base64 of zlib')

/** The tests of a ground truth. */
interface Tests {
  readonly cases: readonly ProgramCase[]
  /** The program with the code of its tests. */
  readonly whole: (program: string) => string
  /** Code that computes what is expected, in a process without the program. */
  readonly setup: string
  /** A test shares its process with the program, which may cheat it, or asks one of its functions about another one. */
  readonly isWeak: boolean
}

const truths = z.union([
  lists,
  unitTests,
  z.object({ verifier_metadata: unitTests }),
  assertCases,
  mbpp,
  evalPlus,
  humanEval,
  lcbRow,
  inputOutput,
  pairs,
  statements,
  packedPairs,
])
type Truth = z.output<typeof truths>

/** Characters of a program with what comes before it; a sandbox takes no longer ones. */
const mostCharacters = 1_000_000

/** The score of a program that is too long to be run: its author's fault, so no failure. */
const tooLong = (penalty: number): Score => ({
  value: 0 - penalty,
  parts: { compiled: 0, passed: 0 },
  flags: ['too_long'],
})

/** Tests that one program is run on at most. */
const mostTests = 10_000

/**
 * Runs the response's program on the tests of the ground truth in the step's sandbox. Pays 1 if all tests pass, else 0;
 * `score: share` pays the share of tests that pass.
 *
 * Reads the tests of verl (`inputs` and `outputs`, `fn_name`, `assert_case`), LiveCodeBench (private tests too), NeMo Gym,
 * Open-Instruct (asserts, or `input` and `output`), MBPP, HumanEval and EvalPlus, as objects or as JSON text.
 *
 * Invalid: no tests or more than 10,000, lists of unequal length, an expected value that is no JSON or cannot be computed;
 * a sandbox that fails.
 */
export default defineProgramReward({
  truth: (options) => (options.mode === 'published' ? z.unknown() : truths) as typeof truths,
  options: z.strictObject({
    mode,
    /** Whose code `mode: published` reproduces. `auto`: by the form of the ground truth. */
    grader: z.enum(['auto', ...codeGraders]).default('auto'),
    /** The kind of model by which LiveCodeBench takes the program from the response, in mode `published`. */
    lcb_style: z.enum(lcbStyles).default('chat'),
    /** Pays less for a slow program, as Open-Instruct's `code_apply_perf_penalty`, in mode `published`. */
    perf_penalty: z.boolean().default(false),
    /** Language of the programs. Other languages than Python have only tests of standard input; the sandbox's `languages` must name them. */
    language: z.enum(['python', 'cpp', 'javascript']).default('python'),
    /** `all`: 1 if every test passes. `share`: the share that passes. */
    score: z.enum(['all', 'share']).default('all'),
    /** Pays the share only from this one on; below it 0. Goes with `score: share`, and with Open-Instruct's grader. */
    threshold: z.number().min(0).max(1).default(0),
    /** Which tests count. `longest`: those with the longest inputs. */
    tests: z
      .union([
        z.literal('all'),
        z.strictObject({ first: z.int().min(1) }),
        z.strictObject({ longest: z.int().min(1) }),
      ])
      .default('all'),
    /** How printed text is compared: by words with numbers by value, or exactly. */
    compare: z.enum(['words', 'exact']).default('words'),
    /** Largest absolute or relative difference of two numbers. */
    tolerance: z.number().min(0).max(1).default(0),
    /** Which fenced block holds the program. `none`: the whole response is the program, as Open-Instruct sends it. */
    fence: z.enum(programFences).default('last'),
    /** Whether a response without a fence is a program as a whole. */
    bare: z.boolean().default(false),
    /** What a response without a program loses. */
    format_penalty: z.number().min(0).max(1).default(0),
    /**
     * CPU seconds, and seconds by the clock, of one test: 10 by default. In mode `published`, Open-Instruct's default is 1,
     * LiveCodeBench's 6, and prime_code has its own limits.
     */
    limit_s: z.number().positive().max(3600).optional(),
    /** Seconds by the clock for all tests. Tests that are left then count as failed. */
    total_s: z.number().positive().max(3600).default(60),
    memory_mb: z.int().min(16).max(65_536).default(1024),
  }),
  range: ({ format_penalty: penalty }) => [penalty === 0 ? 0 : -penalty, 1],
  parts: ['compiled', 'passed'],
  rm_preprocess({ sample, truth, options }) {
    if (options.mode === 'published') {
      if (options.language !== 'python') throw new BadSample('mode: published runs only Python')
      const made = publishedExecution(sample.response, truth, options)
      if (made && 'program' in made && made.program.length > mostCharacters) return tooLong(0)
      if (made) return made
      throw new BadSample(
        'no published grader reads a ground truth of this form, or `grader` must name one; strict mode reads more forms',
      )
    }
    const { limit_s: limit = 10 } = options
    const { language } = options
    const program = programIn(sample.response, language, options)
    const tests = testsOf(truth, options)
    if (language !== 'python' && tests.cases.some((one) => !('stdin' in one)))
      throw new BadSample(`tests that call a function or hold statements are for Python, not for ${language}`)
    if (program === null)
      return { value: 0 - options.format_penalty, parts: { compiled: 0, passed: 0 }, flags: ['no_code'] }
    const whole = tests.whole(program)
    if (whole.length > mostCharacters) return tooLong(options.format_penalty)
    return {
      language,
      program: whole,
      setup: tests.setup,
      cases: chosen(tests.cases, options.tests),
      limits: {
        cpuSeconds: limit,
        wallSeconds: limit,
        totalSeconds: options.total_s,
        memoryMb: options.memory_mb,
      },
      stop: options.score === 'all' ? 'first_failure' : 'never',
    }
  },
  rm_postprocess(result: ExecutionResult, { truth, options }): Score | null {
    if (options.mode === 'published') return publishedScore(result, truth, options)
    const { compiled, cases } = result
    const { cases: all, isWeak } = testsOf(truth, options)
    const asked = chosen(all, options.tests).length
    const share = cases.filter(({ passed }) => passed).length / asked
    const failed = cases.findIndex(({ passed }) => !passed)
    const first = cases[failed]
    const has = (end: CaseEnd): boolean => cases.some(({ ended }) => ended === end)
    const flags = [
      ...(isWeak ? ['weak_tests'] : []),
      ...(has('time') ? ['time_limit'] : []),
      ...(has('tampered') ? ['tampered'] : []),
    ]
    return {
      value: options.score === 'all' ? Number(share === 1) : share >= options.threshold ? share : 0,
      parts: { compiled: Number(compiled && !has('missing')), passed: share },
      details: {
        tests: asked,
        run: cases.length,
        ...(first && {
          first_failure: failed,
          ended: first.ended,
          ...(first.error && { error: first.error }),
        }),
      },
      ...(flags.length > 0 && { flags }),
    }
  },
})

interface Comparing {
  readonly compare: 'words' | 'exact'
  readonly tolerance: number
}

function testsOf(truth: Truth, options: Comparing): Tests {
  if (typeof truth === 'string') return fromPairs(pairsIn(truth), null, options)
  if (Array.isArray(truth))
    return typeof truth[0] === 'string'
      ? fromStatements(truth as readonly string[])
      : fromPairs(truth as Pairs, null, options)
  if ('verifier_metadata' in truth) return testsOf(truth.verifier_metadata, options)
  if ('unit_tests' in truth) return fromLists(unitTestsOf(truth.unit_tests), options)
  if ('inputs' in truth) return fromLists(truth, options)
  if ('input_output' in truth) {
    const { input_output: given } = truth
    return fromLists(typeof given === 'string' ? parsed(lists, given, 'input_output') : given, options)
  }
  if ('private_test_cases' in truth) {
    const { public_test_cases: shown = [], private_test_cases: hidden, metadata } = truth
    const all = [shown, hidden].flatMap((tests) => (typeof tests === 'string' ? pairsIn(tests) : tests))
    return fromPairs(all, functionOf(metadata), options)
  }
  if ('assert_case' in truth) return fromStatements(truth.assert_case)
  if ('test_list' in truth) {
    const code = [...(truth.test_imports ?? []), truth.test_setup_code ?? ''].filter(
      (line) => line.trim() !== '',
    )
    return fromStatements(
      [...truth.test_list, ...(truth.challenge_test_list ?? [])],
      code.map((line) => `${line}\n`).join(''),
    )
  }
  if ('base_input' in truth) return fromReference(truth, options)
  const { test, entry_point: called, prompt } = truth
  const whole = (program: string) => completed(prompt, called, program)
  return { cases: [{ check: `${test}\ncheck(${called})` }], whole, setup: '', isWeak: true }
}

type Pairs = z.output<typeof pairs>

/** A JSON text, or a packed one. */
function parsed<T>(schema: z.ZodType<T>, text: string, where: string): T {
  const read = isPacked(text) ? unpacked(text) : { text }
  if ('problem' in read) throw new BadSample(`${where} of the ground truth cannot be read: ${read.problem}`)
  let value: unknown
  try {
    value = JSON.parse(read.text)
  } catch {
    throw new BadSample(`${where} of the ground truth is no JSON text`)
  }
  const result = schema.safeParse(value)
  if (!result.success) throw new BadSample(`${where} of the ground truth has no tests of the known form`)
  return result.data
}

const pairsIn = (text: string): Pairs => parsed(z.union([pairs, z.array(z.never())]), text, 'a list of tests')

function unitTestsOf(tests: z.output<typeof unitTests>['unit_tests']): z.output<typeof lists> {
  if (!('packed' in tests)) return tests
  const read = parsed(lists, tests.packed, 'packed')
  return { ...read, fn_name: tests.fn_name ?? read.fn_name }
}

function functionOf(metadata: z.output<typeof lcbRow>['metadata']): string | null {
  if (metadata === undefined) return null
  const read =
    typeof metadata === 'string' && metadata.trim() !== ''
      ? parsed(z.object({ func_name: z.string().nullish() }), metadata, 'metadata')
      : metadata
  return typeof read === 'string' ? null : (read.func_name ?? null)
}

/** EvalPlus: what is expected is what the reference solution gives, in a process of its own. */
function fromReference(truth: z.output<typeof evalPlus>, { tolerance }: Comparing): Tests {
  const { entry_point: called, canonical_solution: solution, base_input, plus_input, prompt, atol } = truth
  const all = [...base_input, ...plus_input]
  if (all.length === 0) throw new BadSample('the ground truth has no tests')
  const tests = referenceTests(called, all, Math.max(tolerance, atol))
  if (tests === null)
    throw new BadSample(`EvalPlus pays for answers to the task '${called}' that solve nothing`)
  const whole = (program: string) => completed(prompt, called, program)
  return { cases: tests.cases, whole, setup: `${whole(solution)}\n${tests.code}`, isWeak: false }
}

function fromLists({ inputs, outputs, fn_name: name }: z.output<typeof lists>, options: Comparing): Tests {
  if (inputs.length === 0) throw new BadSample('the ground truth has no tests')
  if (inputs.length !== outputs.length)
    throw new BadSample(`the ground truth has ${inputs.length} inputs and ${outputs.length} outputs`)
  const cases = inputs.map((input, at): ProgramCase => {
    const output = outputs[at] ?? ''
    if (!name) return { stdin: input, expected: printed(output, options) }
    const { tolerance } = options
    return { call: name, args: argumentsOf(input, at), expected: { json: jsonOf(output, at), tolerance } }
  })
  return { cases, whole: (program) => program, setup: '', isWeak: false }
}

const printed = (output: string, { compare, tolerance }: Comparing): NonNullable<ProgramCase['expected']> =>
  compare === 'exact' ? { exact: output } : { stdout: output, tolerance }

/** Each line is one argument. */
function argumentsOf(input: string, at: number): string {
  const lines = input.split('\n').filter((line) => line.trim() !== '')
  const text = `[${lines.join(',')}]`
  if (!isJson(text)) throw new BadSample(`input ${at} of the ground truth is not one JSON value a line`)
  return text
}

function jsonOf(output: string, at: number): string {
  if (!isJson(output)) throw new BadSample(`output ${at} of the ground truth is no JSON value`)
  return output
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** `called`: the function that tests of another kind than standard input call. */
function fromPairs(tests: Pairs, called: string | null, options: Comparing): Tests {
  if (tests.length === 0) throw new BadSample('the ground truth has no tests')
  const isCalled = tests.some(({ testtype }) => testtype !== undefined && testtype !== 'stdin')
  if (isCalled && called === null)
    throw new BadSample(
      'tests that call a function need its name: func_name in metadata, or inputs, outputs and fn_name',
    )
  const inputs = tests.map(({ input }) => input)
  const outputs = tests.map(({ output }) => output)
  return fromLists({ inputs, outputs, fn_name: isCalled ? called : null }, options)
}

/** An assert is split, so that the program never holds what is expected. `code`: what the tests bring along. */
function fromStatements(tests: readonly string[], code = ''): Tests {
  const { names, needsProgram } = readSetup(code)
  const read = tests.map((test) => readAssert(test, needsProgram ? undefined : names))
  const cases = read.map((one, at): ProgramCase => {
    if (one === null) return { check: tests[at] ?? '' }
    const { value, holds, python } = one
    return { value, expected: { holds, ...(python !== undefined && { python }) } }
  })
  const isWeak = read.some((one) => one === null || one.isWeak)
  return needsProgram
    ? { cases, whole: (program) => `${program}\n${code}`, setup: '', isWeak }
    : { cases, whole: (program) => withAhead(code, program), setup: code, isWeak }
}

type Chosen = 'all' | { readonly first: number } | { readonly longest: number }

function chosen(cases: readonly ProgramCase[], which: Chosen): readonly ProgramCase[] {
  const some =
    which === 'all' ? cases : 'first' in which ? cases.slice(0, which.first) : longestOf(cases, which.longest)
  if (some.length > mostTests)
    throw new BadSample(
      `the ground truth has ${some.length} tests; at most ${mostTests} are run: set \`tests: {first: n}\``,
    )
  return some
}

function longestOf(cases: readonly ProgramCase[], count: number): readonly ProgramCase[] {
  const size = (one: ProgramCase): number =>
    ('stdin' in one ? one.stdin : 'call' in one ? one.args : 'value' in one ? one.value : one.check).length
  const longest = new Set([...cases].sort((a, b) => size(b) - size(a)).slice(0, count))
  return cases.filter((one) => longest.has(one))
}
