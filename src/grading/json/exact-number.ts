/** A number of JSON, however long: `digits` times ten to the `exponent`, which equal numbers share. */
export class ExactNumber {
  /** Without zeros at either end; empty for 0. */
  readonly digits: string
  readonly exponent: number
  readonly isNegative: boolean
  /** As its author wrote it. */
  readonly written: string

  /** null: the exponent has more than 15 digits, which no number that means anything has. */
  static read(literal: string): ExactNumber | null {
    const [, sign, whole = '', fraction = '', power = '0'] = parts.exec(literal) ?? []
    const written = whole + fraction
    let [start, end] = [0, written.length]
    while (written[start] === '0') start++
    while (end > start && written[end - 1] === '0') end--
    if (start === end) return new ExactNumber('', 0, false, literal)
    if (power.replace(/^[-+]?0*/, '').length > 15) return null
    const exponent = Number(power) - fraction.length + written.length - end
    return new ExactNumber(written.slice(start, end), exponent, sign === '-', literal)
  }

  /** What a double shows as: 0.1 is one tenth. */
  static of(number: number): ExactNumber {
    const exact = ExactNumber.read(String(number))
    if (exact === null) throw new Error(`${number} is no number of JSON`)
    return exact
  }

  private constructor(digits: string, exponent: number, isNegative: boolean, written: string) {
    this.digits = digits
    this.exponent = exponent
    this.isNegative = isNegative
    this.written = written
  }

  isInteger(): boolean {
    return this.exponent >= 0
  }

  /** Below 0 where this is less, 0 where both are equal, else above. */
  compare(other: ExactNumber): number {
    const sign = this.sign()
    if (sign !== other.sign()) return sign - other.sign()
    const magnitude = this.digits.length + this.exponent - other.digits.length - other.exponent
    if (magnitude !== 0) return sign * magnitude
    if (this.digits === other.digits) return 0
    return this.digits < other.digits ? -sign : sign
  }

  /** Whether this is `step` times an integer. Linear in the digits; an exponent costs its logarithm. */
  isMultipleOf(step: ExactNumber): boolean {
    const shift = this.exponent - step.exponent
    if (this.digits === '') return true
    // No digit at the end is 0, so that no power of ten divides them.
    if (shift < 0 || step.digits === '') return false
    const modulus = BigInt(step.digits)
    return (remainder(this.digits, modulus) * powerOfTen(shift, modulus)) % modulus === 0n
  }

  /** The same text for equal numbers. */
  toString(): string {
    return `${this.isNegative ? '-' : ''}${this.digits || '0'}e${this.exponent}`
  }

  private sign(): number {
    if (this.digits === '') return 0
    return this.isNegative ? -1 : 1
  }
}

const parts = /^([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/

const chunk = 15

function remainder(digits: string, modulus: bigint): bigint {
  let rest = 0n
  for (let at = 0; at < digits.length; at += chunk) {
    const piece = digits.slice(at, at + chunk)
    rest = (rest * 10n ** BigInt(piece.length) + BigInt(piece)) % modulus
  }
  return rest
}

function powerOfTen(exponent: number, modulus: bigint): bigint {
  let [result, base] = [1n, 10n % modulus]
  for (let left = BigInt(exponent); left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * base) % modulus
    base = (base * base) % modulus
  }
  return result
}
