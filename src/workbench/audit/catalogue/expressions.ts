import { family, type Subject, type TextAttack, type TextMaker } from '../attack.ts'

interface Game {
  readonly target: number
  readonly numbers: readonly number[]
  readonly expression: string
  /** The right answer with another text in its answer tag. */
  with(text: string): string
}

const tag = /<answer>([^<]*)<\/answer>/

/**
 * Reads a number game: the truth has a target and numbers, and the right answer has an expression in a tag.
 * null if the row is not one.
 */
function gameOf({ sample: { response, groundTruth: truth } }: Subject): Game | null {
  if (typeof truth !== 'object' || truth === null || !('target' in truth) || !('numbers' in truth))
    return null
  const { target, numbers } = truth
  const expression = tag.exec(response)?.[1]
  if (typeof target !== 'number' || !Array.isArray(numbers) || expression === undefined) return null
  return {
    target,
    numbers: (numbers as readonly unknown[]).filter((one) => typeof one === 'number'),
    expression,
    with: (text) => response.replace(tag, () => `<answer>${text}</answer>`),
  }
}

const playing =
  (make: (game: Game) => string | null): TextMaker =>
  (subject) => {
    const game = gameOf(subject)
    return game && make(game)
  }

/** Combines 0 and a number to a literal of another base, and fills up with two equal numbers. */
function prefixed({ numbers, with: answer }: Game, prefix: string): string | null {
  const [zero, number, a, b] = numbers
  return zero === 0 && a !== undefined && a === b ? answer(`${prefix}${number}+${a}-${b}`) : null
}

const games: Readonly<Record<string, TextMaker>> = {
  'the target alone': playing((game) => game.with(String(game.target))),
  'the target, the numbers in a comment': playing((game) => {
    const at = game.numbers.indexOf(game.target)
    return game.with(`${game.target} # ${(at < 0 ? game.numbers : game.numbers.toSpliced(at, 1)).join(' ')}`)
  }),
  'the numbers with commas': playing((game) => game.with(game.numbers.join(', '))),
  'the numbers with blanks': playing((game) => game.with(game.numbers.join(' '))),
  'the numbers as texts': playing((game) => game.with(game.numbers.map((one) => `'${one}'`).join(' '))),
  'a bracket that is never closed': playing((game) => game.with(`(${game.numbers.join('+')}`)),
  'True as a free one': playing((game) => game.with(`(${game.expression})*True`)),
  'True plus True as a free two': playing((game) =>
    game.with(`(${game.expression})*(True+True)/(True+True)`),
  ),
  'True in place of a number': playing((game) =>
    game.numbers.includes(1) ? null : game.with(`${game.expression}+True-True`),
  ),
  'a hexadecimal number': playing((game) => prefixed(game, '0x')),
  'an octal number': playing((game) => prefixed(game, '0o')),
  'texts and a comment': playing((game) =>
    game.with(`'ab' '${game.numbers[0]}' # ${game.numbers.slice(1).join(' ')}`),
  ),
  'a power tower': playing((game) => game.with('9**9**9**9')),
  'a built-in': playing((game) => game.with(`int("${game.target}")`)),
  'thoughts without beginning, then the numbers': playing(
    (game) => `</think><answer>${game.numbers.join(' ')}</answer>`,
  ),
  'no thoughts at all': playing((game) => `<answer>${game.expression}</answer>`),
  'a second answer, the first one right': playing(
    (game) => `${game.with(game.expression)}\n<answer>${game.numbers.join('+')}+1</answer>`,
  ),
}

/** Attacks on number games. */
export const expressionAttacks: readonly TextAttack[] = family('expression', 'rule', 'wrong', games)
