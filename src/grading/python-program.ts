/** Puts a program of Python and the code of its tests together. All input is hostile; the cost is linear. */

import { isKnown } from './assertion.ts'
import { isName, type Token, tokensOf } from './python-tokens.ts'

/** A program with code before it, behind the imports of the future, which the language wants first. */
export function withAhead(ahead: string, program: string): string {
  const head = ahead === '' ? 0 : endOfHead(program)
  if (head === 0) return `${ahead}${program}`
  return `${program.slice(0, head)}\n${ahead}${program.slice(head).replace(/^[ \t]*;[ \t]*/, '')}`
}

/** The offset behind a program's last import of the future; 0 if it has none. Before that, there may be a docstring. */
function endOfHead(program: string): number {
  let end = 0
  for (const line of linesOf(program)) {
    const words = line.map(({ token }) => token)
    if (words.every((word) => word === '#')) continue
    if (/^from __future__ /.test(words.join(' '))) end = line.at(-1)?.end ?? end
    else if (!words.every((word) => word === '"')) break
  }
  return end
}

/** Simple statements, without what ends them. A statement that has a block goes on to the end of its line. */
function* linesOf(program: string): Generator<readonly Token[]> {
  let line: Token[] = []
  let depth = 0
  for (const token of tokensOf(program)) {
    if (/^[([{]$/.test(token.token)) depth++
    if (/^[)\]}]$/.test(token.token)) depth--
    if (depth <= 0 && (token.token === '\n' || token.token === ';')) {
      if (line.length > 0) yield line
      line = []
    } else if (token.token !== '\n') line.push(token)
  }
  if (line.length > 0) yield line
}

/** What the code of a test defines, and whether it calls what only the program can define. */
export interface TestSetup {
  /** Names of its functions, classes, modules and variables. */
  readonly names: ReadonlySet<string>
  readonly needsProgram: boolean
}

/** Reads the code that a test brings along. */
export function readSetup(code: string): TestSetup {
  const names = new Set<string>()
  const bound = new Set<string>()
  const called = new Set<string>()
  for (const line of linesOf(code)) {
    const first = line[0]?.at ?? 0
    const isTop = first === 0 || code[first - 1] === '\n' || code[first - 1] === ';'
    const words = line.map(({ token }) => token)
    const isImport = /^(?:import|from)$/.test(words[0] ?? '')
    const isBlock = words[0] === 'def' || words[0] === 'class' || words[0] === 'async'
    // Names of parameters stand before the block.
    const head = isBlock ? endOfHeader(words) : 0
    const equals = words.indexOf('=')
    let isTarget = false
    for (const [at, word] of words.entries()) {
      if (word === 'for' || word === 'in') isTarget = word === 'for'
      if (!isName(word)) continue
      const [before, after] = [words[at - 1], words[at + 1]]
      const isBound =
        (isImport && at > words.indexOf('import') && after !== 'as') ||
        before === 'def' ||
        before === 'class' ||
        before === 'as' ||
        isTarget ||
        (!isBlock && at < equals && (after === '=' || after === ','))
      if (isBound || at < head || after === '=') bound.add(word)
      if (isBound && isTop) names.add(word)
      if (after === '(' && before !== '.' && before !== 'def' && before !== 'class') called.add(word)
    }
  }
  return {
    names,
    needsProgram: [...called].some((name) => !bound.has(name) && !isKnown(name)),
  }
}

/** The place of the colon that begins a block. */
function endOfHeader(words: readonly string[]): number {
  let depth = 0
  for (const [at, word] of words.entries()) {
    if (/^[([{]$/.test(word)) depth++
    if (/^[)\]}]$/.test(word)) depth--
    if (depth === 0 && word === ':') return at
  }
  return words.length
}

/**
 * A completion of a prompt that begins a function, as HumanEval has them: the whole function, or its body. What the prompt defines besides can be used in
 * both. A prompt that does not define the function is no code, and is left out.
 */
export function completed(prompt: string, name: string, program: string): string {
  const definition = new RegExp(`^(?:async[ \\t]+)?def[ \\t]+${name}\\b`, 'm')
  if (!definition.test(prompt)) return program
  const [before] = /^(?:[ \t]*(?:#[^\n]*)?\r?\n)*/.exec(program) ?? ['']
  const isBody = /^[ \t]/.test(program.slice(before.length)) && !definition.test(program)
  const whole = prompt.endsWith('\n') ? prompt : `${prompt}\n`
  if (isBody) return `${whole}${program}`
  const lacksBody = /:[ \t]*(?:#[^\n]*)?\s*$/.test(whole.slice(whole.trimEnd().lastIndexOf('\n') + 1))
  // The function that the prompt begins is not the program's.
  return withAhead(`${whole}${lacksBody ? '    pass\n' : ''}del ${name}\n`, program)
}

/** How EvalPlus compares a task whose answers it does not compare with those of its reference. */
interface Oracle {
  /** Python that `holds` needs. */
  readonly code: string
  /** A Python expression of `_`, the program's value, of `expected`, the reference's, and of `inputs`, the arguments. */
  readonly holds: string
  /** What `expected` is made of the reference's value, which stands for `$`. */
  readonly expected?: string
}

// cspell:disable
const oracle = (holds: string, code = '', expected?: string): Oracle => ({
  code,
  holds,
  ...(expected && { expected }),
})
const asSets = oracle('set(_) == set(expected)')
const isFound = oracle(
  '_ == expected if isinstance(_, bool) else expected == (_ is not None)',
  '',
  '($) is not None',
)
const oracles: Readonly<Record<string, Oracle | null>> = {
  find_zero: oracle(
    'abs(evalplus_poly(*inputs, _)) <= atol',
    'def evalplus_poly(xs, x):\n    import math\n    return sum([coeff * math.pow(x, i) for i, coeff in enumerate(xs)])\n',
  ),
  surface_Area: oracle(
    '_ == expected or abs(_ - evalplus_area(*inputs)) <= atol',
    'def evalplus_area(edge, height):\n    import math\n    return round(edge**2 + 2 * edge * math.sqrt((edge / 2) ** 2 + height**2))\n',
  ),
  digit_distance_nums: oracle(
    '_ == expected or _ == evalplus_distance(*inputs)',
    'def evalplus_distance(a, b):\n    size = max(len(str(a)), len(str(b)))\n    return sum(abs(int(x) - int(y)) for x, y in zip(str(a).zfill(size), str(b).zfill(size)))\n',
  ),
  // It takes every answer to the first one, and 0 for all inputs to the second one.
  are_equivalent: null,
  sum_div: null,
  ...Object.fromEntries(
    'similar_elements find_char_long common_in_nested_lists extract_singly larg_nnum intersection_array find_dissimilar Diff'
      .split(' ')
      .map((name) => [name, asSets]),
  ),
  ...Object.fromEntries(
    'check_str text_match_three text_starta_endb'.split(' ').map((name) => [name, isFound]),
  ),
}

/** A test that calls a function with a JSON list of arguments and compares with what a reference gives. */
interface ReferenceTest {
  readonly call: string
  readonly args: string
  readonly expected:
    | { readonly python: string; readonly atol: number }
    | { readonly python: string; readonly holds: string }
}

/** EvalPlus's tests of a task, and Python that they need. null: it pays for answers that solve nothing. */
export function referenceTests(
  name: string,
  inputs: readonly unknown[],
  atol: number,
): { readonly cases: readonly ReferenceTest[]; readonly code: string } | null {
  const oracle = Object.hasOwn(oracles, name) ? oracles[name] : undefined
  if (oracle === null) return null
  const cases = inputs.map((input): ReferenceTest => {
    const args = JSON.stringify(input)
    const list = `__import__('json').loads(${JSON.stringify(args)})`
    const python = `${name}(*${list})`
    if (!oracle) return { call: name, args, expected: { python, atol } }
    const holds = `(lambda inputs, atol: ${oracle.holds})(${list}, ${atol})`
    return {
      call: name,
      args,
      expected: { holds, python: oracle.expected?.replace('$', () => python) ?? python },
    }
  })
  return { cases, code: oracle?.code ?? '' }
}
