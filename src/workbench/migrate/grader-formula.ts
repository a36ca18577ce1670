import { didYouMean } from '../../core/nearest-name.ts'

/** The functions of calculate_output; all are functions of a formula too. */
const functions = ['min', 'max', 'abs', 'floor', 'ceil', 'exp', 'sqrt', 'log']
const longest = 4096

/**
 * `calculate_output` as a formula: each grader's name replaced by its own expression, `^` by `**`. Or every mistake.
 */
export function formulaOf(
  source: string,
  expressions: ReadonlyMap<string, string>,
): { readonly formula: string } | { readonly mistakes: readonly string[] } {
  if (source.length > longest) return { mistakes: [`has more than ${longest} characters`] }
  const names = [...expressions.keys()].sort((a, b) => b.length - a.length).map(escaped)
  const token = new RegExp(`(?<![\\w.])(?:${[...names, '[A-Za-z_]\\w*'].join('|')})(?![\\w.])|\\^`, 'g')
  const mistakes: string[] = []
  const formula = source.replace(token, (found) => {
    if (found === '^') return '**'
    const expression = expressions.get(found)
    if (expression !== undefined) return expression
    if (!functions.includes(found))
      mistakes.push(
        `there is no grader '${found}'${didYouMean(found, [...expressions.keys(), ...functions])}`,
      )
    return found
  })
  return mistakes.length > 0 ? { mistakes } : { formula }
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
