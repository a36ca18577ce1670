/** Where the guard's generated names stand. */
export const controlTokensFile = 'src/scoring/engine/guard/control-tokens.ts'

/** The generated file: names as lines of words, as a reader and a diff want them. */
export function controlTokensText(found: {
  readonly tagged: readonly string[]
  readonly bracketed: readonly string[]
  readonly sources: readonly string[]
}): string {
  return `// Written by \`node dist/test/control-tokens.js FOLDER...\` from published chat templates; do not edit.

/** The projects whose templates were read. */
export const sources: readonly string[] = ${words(found.sources)}

/** Names of control tokens in angle brackets, such as \`</think>\`; \`#\` matches any number. */
export const taggedNames: readonly string[] = ${words(found.tagged)}

/** Names of control tokens in square brackets, such as \`[/INST]\`; \`#\` matches any number. */
export const bracketedNames: readonly string[] = ${words(found.bracketed)}
`
}

const lineLength = 100

/** Names in order, some on each line. */
function words(names: readonly string[]): string {
  const lines: string[] = []
  for (const name of [...names].sort()) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + name.length < lineLength)
      lines[lines.length - 1] = `${last} ${name}`
    else lines.push(name)
  }
  return `\`\n${lines.join('\n')}\n\`.trim().split(/\\s+/)`
}
