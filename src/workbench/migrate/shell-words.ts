/** One character's part in a word: `literal` text is never searched for variables. */
interface Piece {
  readonly text: string
  readonly literal: boolean
}

const variable = /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::-([^}]*))?\})/g
const assignment = /^([A-Za-z_]\w*)=(.*)$/s

/**
 * The words of a launch script: quotes and continued lines resolved, comments left out, variables filled in from the
 * script's own assignments; one that it does not assign stays `${NAME}`. Control flow is not followed. Linear.
 */
export function shellWords(script: string): readonly string[] {
  const assigned = new Map<string, string>()
  return rawWords(script).map((pieces) => {
    const word = pieces.map(({ text, literal }) => (literal ? text : filled(text, assigned))).join('')
    const found = assignment.exec(word)
    if (found) assigned.set(found[1] ?? '', found[2] ?? '')
    return word
  })
}

const filled = (text: string, assigned: ReadonlyMap<string, string>): string =>
  text.replace(variable, (_, plain?: string, braced?: string, fallback?: string) => {
    const name = plain ?? braced ?? ''
    return assigned.get(name) ?? (fallback === undefined ? `\${${name}}` : `\${${name}:-${fallback}}`)
  })

function rawWords(script: string): Piece[][] {
  const words: Piece[][] = []
  let word: Piece[] = []
  const end = () => {
    if (word.length > 0) words.push(word)
    word = []
  }
  for (let at = 0; at < script.length; ) {
    const char = script[at] ?? ''
    const [close, literal] = char === "'" ? ["'", true] : char === '"' ? ['"', false] : ['', false]
    if (close !== '') {
      const stop = endOfQuote(script, at + 1, close)
      const text = script.slice(at + 1, stop)
      word.push({
        text: literal ? text : text.replace(/\\(["\\$`\n])/g, (_, c) => (c === '\n' ? '' : c)),
        literal,
      })
      at = stop + 1
    } else if (char === '\\') {
      if (script[at + 1] !== '\n') word.push({ text: script[at + 1] ?? '', literal: true })
      at += 2
    } else if (/[\s;&|()]/.test(char)) {
      end()
      at++
    } else if (char === '#' && word.length === 0) {
      const line = script.indexOf('\n', at)
      at = line === -1 ? script.length : line
    } else {
      const stop = endOfPlain(script, at)
      word.push({ text: script.slice(at, stop), literal: false })
      at = stop
    }
  }
  end()
  return words
}

function endOfQuote(script: string, start: number, close: string): number {
  for (let at = start; at < script.length; at++) {
    if (script[at] === close) return at
    if (close === '"' && script[at] === '\\') at++
  }
  return script.length
}

function endOfPlain(script: string, start: number): number {
  const stop = /[\s;&|()'"\\]/g
  stop.lastIndex = start + 1
  return stop.exec(script)?.index ?? script.length
}
