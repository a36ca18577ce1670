import { characters } from './vocabulary.ts'

const foreign = /[\u0080-\uffff]/g
const doubled =
  /(?<!\\)\\\\(?=(?:[dtc]?frac|left|right|boxed|sqrt|text|pi|cdot|times|infty|cup|begin|end|pm|mathrm)(?![a-z]))/g

/** Full-width, typographic and damaged characters as the ASCII LaTeX that they stand for. Linear. */
export function repaired(text: string): string {
  let fixed = text.replace(foreign, ascii)
  // JSON's escapes eat the first letter of \frac and \boxed where LaTeX was written into a string unescaped.
  if (fixed.includes('\f')) fixed = fixed.replaceAll('\\\frac', '\\frac').replaceAll('\frac', '\\frac')
  if (fixed.includes('\b')) fixed = fixed.replaceAll('\boxed', '\\boxed').replaceAll('\begin', '\\begin')
  return fixed.includes('\\\\') ? fixed.replace(doubled, '\\') : fixed
}

function ascii(character: string): string {
  const code = character.charCodeAt(0)
  if (code >= 0xff01 && code <= 0xff5e) return String.fromCharCode(code - 0xfee0)
  return characters.get(character) ?? character
}
