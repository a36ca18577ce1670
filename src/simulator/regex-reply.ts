/** A text that a regex matches whole: the first candidate that does, else one built from the pattern's own words. */
export function regexReply(
  pattern: string,
  candidates: readonly string[],
  choose: (labels: readonly string[]) => string,
): string {
  const whole = compiled(pattern)
  return candidates.find((text) => whole?.test(text)) ?? new Builder(pattern, choose).build()
}

/** Matches a pattern whole; null where it is no regex. Escapes that only other dialects know are allowed. */
export function compiled(pattern: string): RegExp | null {
  for (const flags of ['su', 's']) {
    try {
      return new RegExp(`^(?:${pattern})$`, flags)
    } catch {}
  }
  return null
}

/** Walks a pattern and takes the fewest repeats; of several branches the one that `choose` wants. */
class Builder {
  readonly #pattern: string
  readonly #choose: (labels: readonly string[]) => string
  #at = 0

  constructor(pattern: string, choose: (labels: readonly string[]) => string) {
    this.#pattern = pattern
    this.#choose = choose
  }

  build(): string {
    return this.#branches()
  }

  #branches(): string {
    const branches = [this.#sequence()]
    while (this.#pattern[this.#at] === '|') {
      this.#at += 1
      branches.push(this.#sequence())
    }
    return branches.length === 1 ? (branches[0] ?? '') : this.#choose(branches)
  }

  #sequence(): string {
    let text = ''
    while (this.#at < this.#pattern.length && !'|)'.includes(this.#pattern[this.#at] ?? '')) {
      const atom = this.#atom()
      text += atom.repeat(this.#repeats())
    }
    return text
  }

  #atom(): string {
    const sign = this.#pattern[this.#at++] ?? ''
    if (sign === '(') return this.#group()
    if (sign === '[') return this.#class()
    if (sign === '\\') return escaped(this.#pattern[this.#at++] ?? '')
    if (sign === '^' || sign === '$') return ''
    return sign === '.' ? 'a' : sign
  }

  #group(): string {
    const prefix = /^\?(?::|<[A-Za-z]\w*>)/u.exec(this.#pattern.slice(this.#at, this.#at + 60))?.[0] ?? ''
    this.#at += prefix.length
    const text = this.#branches()
    this.#at += 1
    return text
  }

  /** Single characters of a class are labels to choose from; a range stands for both its ends. */
  #class(): string {
    const members: string[] = []
    const isNegated = this.#pattern[this.#at] === '^'
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== ']') {
      const sign = this.#pattern[this.#at++] ?? ''
      members.push(sign === '\\' ? escaped(this.#pattern[this.#at++] ?? '') : sign)
    }
    this.#at += 1
    if (isNegated) return ['a', '0', ' ', '-'].find((sign) => !members.includes(sign)) ?? '~'
    const ends = members.filter((sign, index) => sign !== '-' || index === 0 || index === members.length - 1)
    return ends.length === 1 ? (ends[0] ?? '') : this.#choose(ends)
  }

  #repeats(): number {
    const rest = this.#pattern.slice(this.#at, this.#at + 24)
    const quantifier = /^(?:[*+?]|\{(\d{1,6})(?:,\d{0,6})?\})[?+]?/u.exec(rest)
    if (!quantifier) return 1
    this.#at += quantifier[0].length
    if (quantifier[1] !== undefined) return Math.min(Number(quantifier[1]), 1000)
    return quantifier[0].startsWith('+') ? 1 : 0
  }
}

function escaped(sign: string): string {
  if (sign === 'd') return '0'
  if (sign === 'w') return 'a'
  if (sign === 's') return ' '
  if (sign === 'n') return '\n'
  if (sign === 't') return '\t'
  return 'bBAzZ'.includes(sign) ? '' : sign
}
