import type { ProgramTested } from '../../../scoring/engine/events.ts'
import type { TestOfProgram } from '../../../scoring/engine/program-tests.ts'
import type { RecordedText, TextKeeper } from '../record/text-policy.ts'

/** The tests of one program, under the text policy. */
export interface ShownTests {
  readonly compiled: boolean
  /** Tests that the program has, those that were run, and those that passed. */
  readonly asked: number
  readonly run: number
  readonly passed: number
  /** In order; some that passed may be left out. */
  readonly tests: readonly ShownTest[]
}

/** One test. A text that was cut says so; its SHA-256, where only that is shown, is of the piece. */
export interface ShownTest {
  readonly index: number
  readonly passed: boolean
  readonly ended: TestOfProgram['ended']
  readonly cpu_s: number
  readonly wall_s: number | null
  /** The last line that it wrote to standard error. */
  readonly error: RecordedText
  readonly kind: TestOfProgram['kind']
  readonly input: RecordedText
  readonly expected?: RecordedText
  /** Absent if the sandbox does not tell. */
  readonly stdout?: RecordedText
  readonly stderr?: RecordedText
  /** The value of a call or an expression as JSON. */
  readonly value?: RecordedText
}

type Piece = TestOfProgram['input']

/** The tests as the text policy lets them be shown. */
export function shownTests(
  { tests, compiled, asked, run, passed }: ProgramTested,
  keep: TextKeeper,
): ShownTests {
  return { compiled, asked, run, passed, tests: tests.map((one) => shownTest(one, keep)) }
}

function shownTest(
  { index, passed, ended, cpuSeconds, error, kind, input, expected, wrote }: TestOfProgram,
  keep: TextKeeper,
): ShownTest {
  const beginning = (piece: Piece): RecordedText => shown(piece, keep, (text, more) => `${text}\n[${more}]`)
  return {
    index,
    passed,
    ended,
    cpu_s: cpuSeconds,
    wall_s: wrote?.wallSeconds ?? null,
    error: keep.text(error),
    kind,
    input: beginning(input),
    ...(expected && { expected: beginning(expected) }),
    ...(wrote && {
      stdout: beginning(wrote.stdout),
      stderr: shown(wrote.stderr, keep, (text, more) => `[${more}]\n${text}`),
    }),
    ...(wrote?.value && { value: beginning(wrote.value) }),
  }
}

function shown(
  { text, chars }: Piece,
  keep: TextKeeper,
  noted: (text: string, more: string) => string,
): RecordedText {
  const kept = keep.text(text)
  if (chars === text.length || kept === null) return kept
  if (typeof kept !== 'string') return { ...kept, chars }
  return noted(kept, `${chars - text.length} more characters`)
}
