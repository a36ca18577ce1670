/** What a program reward asks of a sandbox: a program, the cases to run it on, and what became of them. */

import type { Json } from '../core/sample/sample.ts'

/** Languages of programs. A sandbox runs Python, and the others where its `languages` names them. */
export const programLanguages = ['python', 'cpp', 'javascript'] as const
/** A language of programs. */
export type ProgramLanguage = (typeof programLanguages)[number]

/**
 * How one case is given to the program. Each case runs in a process of its own. Cases other than `stdin` are Python's; in them, the program's `__name__`
 * is not `__main__`.
 */
export type CaseInput =
  /** The program reads this text from standard input. */
  | { readonly stdin: string }
  /** The program's function of this name, or the method of its class `Solution`, is called. `args`: a JSON list as text. */
  | { readonly call: string; readonly args: string }
  /** The value of this Python expression in the program's names, one of which it must use. */
  | { readonly value: string }
  /**
   * Python statements that run in the program's names after it. They see the program's objects, and the program may see
   * them and change what they use: such a test is weak. It passes if none raises.
   */
  | { readonly check: string }

/**
 * What passes. The process of the program never learns it.
 *
 * `stdout`: the words of each line are equal as texts or as decimal numbers; blanks at the ends of lines and blank lines at
 * the end do not count. `exact`: equal but for line breaks at the end. `json`: equal as Python compares, with a tuple
 * equal to a list of the same items. `python`: the value of this expression, in a process without the program, equal as
 * Python compares; if it raises, the sample is invalid. `tolerance`: largest absolute or relative difference of two numbers; 0 by default.
 * `atol`: near as EvalPlus compares.
 *
 * `holds`: this Python expression of `_`, the program's value, is true in a process that runs no program. There, `_` is plain data: numbers, texts,
 * lists, dicts and the like, of Python's own classes; iterators are read to their end. An object of another class is not None, and nothing else is
 * known of it: a comparison that asks it fails. With `python`, `expected` is the value of that expression.
 */
export type Expected =
  | { readonly stdout: string; readonly tolerance?: number }
  | { readonly exact: string }
  | { readonly json: string; readonly tolerance?: number }
  | { readonly python: string; readonly tolerance?: number }
  | { readonly python: string; readonly atol: number }
  | { readonly holds: string; readonly python?: string }

/** One case of a program. Without `expected` it passes if it ends well. */
export type ProgramCase = CaseInput & { readonly expected?: Expected }

/** Limits of one case, and of all cases together. */
export interface ProgramLimits {
  /** CPU seconds of a case; 10 by default. */
  readonly cpuSeconds?: number
  /** Seconds by the clock of a case; 10 by default. A case that got less than half of a core runs once more. */
  readonly wallSeconds?: number
  /** Seconds by the clock of all cases; 60 by default. The cases that are left then have not passed. */
  readonly totalSeconds?: number
  /** MiB that a case may take; 1024 by default. */
  readonly memoryMb?: number
  /** MiB that a case may print; 1 by default. */
  readonly outputMb?: number
}

/** What rm_preprocess of a program reward returns. */
export interface Execution {
  /** `cpp`: one file of C++17, compiled once. `javascript`: for Node, a CommonJS script or an ES module. */
  readonly language: ProgramLanguage
  readonly program: string
  /** Python statements that run before `expected.python` and `expected.holds`; none by default. */
  readonly setup?: string
  readonly cases: readonly ProgramCase[]
  readonly limits?: ProgramLimits
  /**
   * `first_failure`: the cases after the first one that does not pass are not run. `first_passes`: the other cases are run
   * only if the first one does not pass. `never` by default.
   */
  readonly stop?: 'first_failure' | 'first_passes' | 'never'
  /**
   * `outputs`: results tell `stdout` and `value` too, of all cases together at most 16 Mi characters; a case that gives more has
   * ended by its `output`. `verdicts` by default.
   */
  readonly report?: 'verdicts' | 'outputs'
}

/**
 * How a case ended: `ok`; an uncaught exception; an exit code other than 0; a signal; its time, memory or output limit; no
 * function of the name that was called; a broken result.
 */
export type CaseEnd =
  | 'ok'
  | 'exception'
  | 'exit'
  | 'signal'
  | 'time'
  | 'memory'
  | 'output'
  | 'missing'
  | 'tampered'

/** What became of one case. */
export interface CaseResult {
  readonly ended: CaseEnd
  /** Whether it ended well and gave what was expected. */
  readonly passed: boolean
  /** The last line that it wrote to standard error, at most 200 characters. Empty if none. Untrusted. */
  readonly error: string
  readonly cpuSeconds: number
  /** By the clock. null: the server does not tell. */
  readonly wallSeconds: number | null
  /** What it printed, if the execution's `report` is `outputs`. Untrusted. */
  readonly stdout?: string
  /**
   * The value of a call or an expression that ended well, if `report` is `outputs`. None, booleans, texts, lists, integers and floats with a fraction
   * are JSON's own. Of other types it is an object with one member: `{"tuple": [1, 2]}`, `{"dict": [["key", 1]]}`, `{"float": "2.0"}`,
   * `{"int": "0x20000000000000"}` from 2**53 on, and others (docs/code-rewards.md). Untrusted.
   */
  readonly value?: Json
}

/** What rm_postprocess of a program reward reads. */
export interface ExecutionResult {
  /** False: the program does not compile, and no case was run. */
  readonly compiled: boolean
  /** In order of the cases; shorter if it stopped at a failure, or the time of all cases was over. */
  readonly cases: readonly CaseResult[]
}
