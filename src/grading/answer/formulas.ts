const formula = /\$[^$]*(?:\$|$)|\\\([\s\S]*?(?:\\\)|$)|\\\[[\s\S]*?(?:\\\]|$)/g
const command = /\\[A-Za-z]+/g
/** A variable, a side of a triangle or a function: `xy`, `ABC`, `gcd`. Longer words in a formula were set as text. */
const name = /(?<![\p{L}'’])\p{L}{1,3}(?![\p{L}'’])/gu

/** A sentence without the commands of LaTeX and the names in its formulas, which are no words. At most quadratic: for a sentence. */
export function proseOf(sentence: string): string {
  if (!/[\\$]/.test(sentence)) return sentence
  return sentence
    .replace(formula, (inner) => inner.replace(command, ' ').replace(name, ' '))
    .replace(command, ' ')
}
