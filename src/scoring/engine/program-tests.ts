/** What became of the cases of one program, within a bound, for people who look at a sample. */

import type { CaseEnd, Execution, Expected, ProgramCase } from '../../contract/execution.ts'
import { beginningOf, type CaseExcerpts, type Excerpt } from '../sandboxes/excerpts.ts'
import type { Ran } from '../sandboxes/sandbox.ts'

/** The cases of a program. */
export interface TestsOfProgram {
  /** False: the program does not compile, and no case was run. */
  readonly compiled: boolean
  /** Cases that the program has, those that were run, and those that passed. */
  readonly asked: number
  readonly run: number
  readonly passed: number
  /** In order. Those that did not pass come first where they are too many. */
  readonly tests: readonly TestOfProgram[]
}

/** One case that was run. Texts are pieces, and empty where all of them reached their bound. */
export interface TestOfProgram {
  /** Its place among the cases that the program has. */
  readonly index: number
  readonly ended: CaseEnd
  readonly passed: boolean
  readonly cpuSeconds: number
  readonly error: string
  readonly kind: 'stdin' | 'call' | 'value' | 'check'
  readonly input: Excerpt
  readonly expected: Excerpt | null
  /** null if the sandbox does not tell. */
  readonly wrote: CaseExcerpts | null
}

/** Cases of one program that are kept. */
const mostTests = 200
/** Characters of the inputs and expected outputs of one program. */
const longestTexts = 32_768

/** The cases of a program that was run. */
export function testsOf({ cases }: Execution, { result, excerpts }: Ran): TestsOfProgram {
  const passing: number[] = []
  const kept: number[] = []
  for (const [index, { passed }] of result.cases.entries()) {
    if (passed) passing.push(index)
    else if (kept.length < mostTests) kept.push(index)
  }
  kept.push(...passing.slice(0, mostTests - kept.length))
  let left = longestTexts
  const piece = (text: string): Excerpt => {
    const excerpt = beginningOf(text, left)
    left -= excerpt.text.length
    return excerpt
  }
  const tests = kept.flatMap((index): TestOfProgram[] => {
    const [one, ran] = [cases[index], result.cases[index]]
    if (!one || !ran) return []
    const { ended, passed, cpuSeconds, error } = ran
    return [
      {
        index,
        ended,
        passed,
        cpuSeconds,
        error,
        ...inputOf(one, piece),
        expected: one.expected ? piece(textOf(one.expected)) : null,
        wrote: excerpts?.[index] ?? null,
      },
    ]
  })
  return {
    compiled: result.compiled,
    asked: cases.length,
    run: result.cases.length,
    passed: passing.length,
    tests: tests.sort((a, b) => a.index - b.index),
  }
}

function inputOf(one: ProgramCase, piece: (text: string) => Excerpt): Pick<TestOfProgram, 'kind' | 'input'> {
  if ('stdin' in one) return { kind: 'stdin', input: piece(one.stdin) }
  if ('value' in one) return { kind: 'value', input: piece(one.value) }
  if ('check' in one) return { kind: 'check', input: piece(one.check) }
  return { kind: 'call', input: piece(`${one.call}(*${one.args})`) }
}

function textOf(expected: Expected): string {
  if ('stdout' in expected) return expected.stdout
  if ('exact' in expected) return expected.exact
  if ('json' in expected) return expected.json
  if (!('holds' in expected)) return expected.python
  return expected.python === undefined ? expected.holds : `${expected.holds} # expected = ${expected.python}`
}
