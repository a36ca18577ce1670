/** Splits commands of docs as a shell does, and finds what bash and zsh would not take alike. */

/** A command line as its words. Quotes and backslashes are resolved; nothing is expanded. */
export function shellWords(line: string): string[] {
  const words: string[] = []
  for (const [word] of line.matchAll(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/gs))
    words.push(
      word.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs, (_, single, double, escaped) =>
        single !== undefined ? single : double !== undefined ? double.replace(/\\([\\"$`])/g, '$1') : escaped,
      ),
    )
  return words
}

/** The commands of a block: continued lines and texts of several lines are joined, and bodies of here-documents left out. */
export function commandLines(block: string): string[] {
  const lines: string[] = []
  let end: string | null = null
  let open = ''
  for (const line of block.replace(/\\\n\s*/g, ' ').split('\n')) {
    if (end !== null) {
      if (line === end) end = null
      continue
    }
    open = open === '' ? line : `${open}\n${line}`
    const rest = open.replace(/'[^']*'|"(?:\\.|[^"\\])*"/gs, '')
    if (/['"]/.test(rest)) continue
    end = /<<-?\s*'?(\w+)'?/.exec(open)?.[1] ?? null
    if (open.trim() !== '') lines.push(open)
    open = ''
  }
  return open === '' ? lines : [...lines, open]
}

/** Why a line cannot be pasted into bash and into zsh with the same result; null: it can. Texts in quotes are safe. */
export function pasteTrouble(line: string): string | null {
  const bare = line
    .replace(/'[^']*'/g, 'q')
    .replace(/"(?:\\.|[^"\\])*"/gs, (text) => (/![\w!]/.test(text) ? '!!' : 'q'))
  const plain = bare.replace(/\$\{[^}]*\}/g, 'v').replace(/\\./g, 'e')
  // `[ -f x ]` is a command of both.
  const words = plain.replace(/(?<=^|\s)\[\[?\s[^\]]*\s\]\]?/g, 'test')
  if (/(?:^|\s)#/.test(words)) return 'a comment, which zsh takes for arguments'
  if (/[?*]|\[|\]/.test(words)) return 'a pattern, which zsh looks up: put it in quotes'
  if (/[{}]/.test(words)) return 'braces, which both shells expand: put them in quotes'
  if (/(?:^|\s)=/.test(words)) return 'a word that begins with =, which zsh looks up'
  if (/!!/.test(words)) return 'an exclamation mark in double quotes, which both shells look up'
  if (/(?<!<)<[a-zA-Z]/.test(words)) return 'a placeholder that reads as a redirection'
  return null
}
