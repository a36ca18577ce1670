/**
 * Reads the Python syntax in published rows: literals and lists of calls. Values are returned as JSON text,
 * which keeps the spelling of numbers. Rewards read lists with `readPythonList` in grading instead: it rejects
 * what their published parsers reject, while this reader takes whatever rows contain.
 */

/** A call: its dotted name and its arguments as the text of a JSON object. */
interface PythonCall {
  readonly name: string
  readonly argumentsText: string
}

const deepest = 100
const number = /[-+]?(?:0[xX][0-9a-fA-F]+|\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?\d+)?(?![\w.])/y
const name = /[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*|\[(?:'[^'\n]*'|"[^"\n]*"|\d+)\])*/y
const keyword = /([A-Za-z_][A-Za-z0-9_]*)\s*=(?!=)/y
const space = /\s*/y
const words = new Map([
  ['None', 'null'],
  ['True', 'true'],
  ['False', 'false'],
  ['null', 'null'],
  ['true', 'true'],
  ['false', 'false'],
])
const escapes = new Map(
  Object.entries({ n: '\n', r: '\r', t: '\t', '\n': '', '\\': '\\', "'": "'", '"': '"' }),
)
const closing = new Map([
  ['[', ']'],
  ['(', ')'],
  ['{', '}'],
])

/** Converts a single literal to JSON text. null if the text is not one. */
export function pythonLiteral(text: string): string | null {
  const reader = new Reader(text)
  const value = reader.literal(deepest)
  return value !== null && reader.isAtEnd() ? value : null
}

/**
 * Reads a list of calls such as `[a(x=1), b.c('d')]`. null if the text is not one. Arguments that are not
 * literals become their source text.
 */
export function pythonCalls(text: string): readonly PythonCall[] | null {
  const reader = new Reader(text)
  if (!reader.take('[')) return null
  const calls: PythonCall[] = []
  while (!reader.take(']')) {
    const call = reader.call()
    if (call === null) return null
    calls.push(call)
    if (!reader.take(',') && !reader.stands(']')) return null
  }
  return reader.isAtEnd() ? calls : null
}

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  isAtEnd(): boolean {
    this.#match(space)
    return this.#at === this.#text.length
  }

  stands(token: string): boolean {
    this.#match(space)
    return this.#text.startsWith(token, this.#at)
  }

  take(token: string): boolean {
    if (!this.stands(token)) return false
    this.#at += token.length
    return true
  }

  call(): PythonCall | null {
    this.#match(space)
    const called = this.#match(name)
    if (called === '' || !this.take('(')) return null
    const given = new Map<string, string>()
    for (let position = 0; !this.take(')'); ) {
      this.#match(space)
      keyword.lastIndex = this.#at
      const key = keyword.exec(this.#text)
      if (key) this.#at = keyword.lastIndex
      const value = this.#argument()
      if (value === null) return null
      given.set(key?.[1] ?? `arg_${position++}`, value)
      if (!this.take(',') && !this.stands(')')) return null
    }
    return { name: called, argumentsText: objectText(given) }
  }

  /** A literal, or the source text up to the next comma or bracket of this call. */
  #argument(): string | null {
    this.#match(space)
    const start = this.#at
    const value = this.literal(deepest)
    if (value !== null && (this.stands(',') || this.stands(')'))) return value
    this.#at = start
    return this.#skip() ? JSON.stringify(this.#text.slice(start, this.#at).trim()) : null
  }

  /** Skips to the comma or bracket that ends the current argument. False if there is none. */
  #skip(): boolean {
    const open: string[] = []
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at] ?? ''
      if (open.length === 0 && (character === ',' || character === ')')) return true
      if (character === "'" || character === '"') {
        if (this.#quoted() === null) return false
        this.#at--
      } else if (closing.has(character)) open.push(closing.get(character) ?? '')
      else if (character === open.at(-1)) open.pop()
      else if (')]}'.includes(character)) return false
    }
    return false
  }

  literal(depth: number): string | null {
    this.#match(space)
    const character = this.#text[this.#at] ?? ''
    if (depth === 0 || character === '') return null
    if (character === '[' || character === '(') return this.#list(depth, closing.get(character) ?? '')
    if (character === '{') return this.#dictionary(depth)
    if (character === "'" || character === '"') return this.#texts()
    const word = [...words.keys()].find((one) => this.#text.startsWith(one, this.#at))
    if (word !== undefined && !/\w/.test(this.#text[this.#at + word.length] ?? '')) {
      this.#at += word.length
      return words.get(word) ?? null
    }
    return numberText(this.#match(number))
  }

  #list(depth: number, end: string): string | null {
    this.#at++
    const items: string[] = []
    let commas = 0
    while (!this.take(end)) {
      const item = this.literal(depth - 1)
      if (item === null) return null
      items.push(item)
      if (this.take(',')) commas++
      else if (!this.stands(end)) return null
    }
    // A single value in round brackets is the value itself.
    return end === ')' && items.length === 1 && commas === 0 ? (items[0] ?? null) : `[${items.join(', ')}]`
  }

  #dictionary(depth: number): string | null {
    this.#at++
    const members = new Map<string, string>()
    while (!this.take('}')) {
      const key = this.literal(depth - 1)
      const value = key !== null && this.take(':') ? this.literal(depth - 1) : null
      if (key === null || value === null) return null
      members.set(key.startsWith('"') ? (JSON.parse(key) as string) : key, value)
      if (!this.take(',') && !this.stands('}')) return null
    }
    return objectText(members)
  }

  /** Adjacent strings are concatenated. */
  #texts(): string | null {
    let joined = ''
    while (this.stands("'") || this.stands('"')) {
      const text = this.#quoted()
      if (text === null) return null
      joined += text
    }
    return JSON.stringify(joined)
  }

  #quoted(): string | null {
    const quote = this.#text[this.#at++]
    let text = ''
    for (;;) {
      const character = this.#text[this.#at++]
      if (character === undefined || character === '\n') return null
      if (character === quote) return text
      if (character !== '\\') {
        text += character
        continue
      }
      const code = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))/y
      code.lastIndex = this.#at - 1
      const hex = code.exec(this.#text)
      if (hex) {
        text += String.fromCharCode(Number.parseInt(hex[1] ?? hex[2] ?? '', 16))
        this.#at = code.lastIndex
      } else {
        const escaped = this.#text[this.#at++]
        if (escaped === undefined) return null
        text += escapes.get(escaped) ?? `\\${escaped}`
      }
    }
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
    return found
  }
}

const objectText = (members: ReadonlyMap<string, string>): string =>
  `{${[...members].map(([key, value]) => `${JSON.stringify(key)}: ${value}`).join(', ')}}`

/** Converts a Python number of any length to JSON. null if it is not a number. */
function numberText(source: string): string | null {
  const digits = source.replaceAll('_', '').replace(/^\+/, '')
  if (/^-?0[xX]/.test(digits)) {
    const value = BigInt(digits.replace('-', ''))
    return digits.startsWith('-') ? `-${value}` : String(value)
  }
  const text = digits.replace(/^(-?)\./, '$10.').replace(/\.(?=$|[eE])/, '.0')
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text) ? text : null
}
