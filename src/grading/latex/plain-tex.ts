/** Signs that stand for themselves in another spelling. */
const signs = new Map([
  ['pi', 'pi'],
  ['times', '*'],
  ['cdot', '*'],
  ['circ', '∘'],
  ['infty', 'inf'],
  ['{', '{'],
  ['}', '}'],
  ['left', ''],
  ['right', ''],
  ['!', ''],
  [',', ''],
  [';', ''],
  [' ', ' '],
])
const fractions = ['frac', 'dfrac', 'tfrac']
const wrappers = ['text', 'boxed', 'mathrm', 'textbf']
const name = /[a-zA-Z]+|[\s\S]?/y
const maxDepth = 100

/**
 * TeX as plain text: `\frac{a}{b}` is a/b, `\sqrt{x}` is sqrt(x), braces vanish; commands that are not known stay. The
 * brackets of a numerator or denominator are forgotten, as PRIME does. null: nested too deeply.
 */
export function plainTex(text: string): string | null {
  let at = 0

  function group(depth: number): string {
    let plain = ''
    while (at < text.length && text[at] !== '}') plain += piece(depth)
    at++
    return plain
  }

  function piece(depth: number): string {
    if (depth > maxDepth) throw new RangeError('nested too deeply')
    const next = text[at++] ?? ''
    if (next === '{') return group(depth + 1)
    if (next !== '\\') return next
    name.lastIndex = at
    const command = name.exec(text)?.[0] ?? ''
    at += command.length
    if (fractions.includes(command)) return fraction(depth)
    if (command === 'sqrt') return `sqrt(${argument(depth)})`
    if (wrappers.includes(command)) return argument(depth)
    return signs.get(command) ?? `\\${command}`
  }

  function argument(depth: number): string {
    while (text[at] === ' ') at++
    return text[at] === '}' ? '' : piece(depth + 1)
  }

  function fraction(depth: number): string {
    const [above, below] = [argument(depth), argument(depth)]
    return ` ${above}/${below}`
  }

  try {
    let plain = ''
    while (at < text.length) plain += group(0)
    return plain.trim()
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
