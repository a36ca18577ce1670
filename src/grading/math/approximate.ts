/** A complex number with a bound on its distance from the true value. NaN parts mean undefined. */
export interface Approximate {
  readonly re: number
  readonly im: number
  readonly error: number
}

const epsilon = 2.3e-16

export const undefinedValue: Approximate = { re: Number.NaN, im: Number.NaN, error: Number.NaN }

/** A real number with the precision of a double by default. */
export const real = (re: number, error = Math.abs(re) * epsilon): Approximate => ({ re, im: 0, error })

/** The absolute value. */
export const size = ({ re, im }: Approximate): number => (im === 0 ? Math.abs(re) : Math.hypot(re, im))

const rounded = (re: number, im: number, error: number): Approximate => ({
  re,
  im,
  error: error + 4 * epsilon * (Math.abs(re) + Math.abs(im)),
})

export const plus = (a: Approximate, b: Approximate): Approximate =>
  rounded(a.re + b.re, a.im + b.im, a.error + b.error)

export function times(a: Approximate, b: Approximate): Approximate {
  const error = size(a) * b.error + size(b) * a.error + a.error * b.error
  return rounded(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re, error)
}

/** The quotient. Undefined if the divisor may be zero. */
export function over(a: Approximate, b: Approximate): Approximate {
  const least = size(b) - b.error
  if (!(least > 0)) return undefinedValue
  const square = b.re * b.re + b.im * b.im
  const re = (a.re * b.re + a.im * b.im) / square
  const im = (a.im * b.re - a.re * b.im) / square
  return rounded(re, im, (a.error + Math.hypot(re, im) * b.error) / least)
}

export function exponential(a: Approximate): Approximate {
  const length = Math.exp(a.re)
  const error = length * Math.expm1(a.error) + length * epsilon * (Math.abs(a.re) + Math.abs(a.im))
  return a.im === 0
    ? rounded(length, 0, error)
    : rounded(length * Math.cos(a.im), length * Math.sin(a.im), error)
}

/** The principal value. */
export function logarithm(a: Approximate): Approximate {
  const length = size(a)
  if (!(length > 2 * a.error)) return undefinedValue
  return rounded(
    Math.log(length),
    a.im === 0 && a.re > 0 ? 0 : Math.atan2(a.im, a.re),
    (2 * a.error) / length + epsilon,
  )
}

/** The principal value. */
export function raised(base: Approximate, exponent: Approximate): Approximate {
  const whole = exponent.im === 0 && Number.isInteger(exponent.re) && exponent.error < 1e-9
  if (whole && Math.abs(exponent.re) <= 64) return repeated(base, exponent.re)
  if (base.re === 0 && base.im === 0) return exponent.re > 0 ? real(0) : undefinedValue
  if (exponent.re === 0.5 && exponent.im === 0 && base.im === 0) {
    const root = Math.sqrt(Math.abs(base.re))
    const error = Math.min(base.error / root, Math.sqrt(base.error))
    return base.re >= 0 ? rounded(root, 0, error) : rounded(0, root, error)
  }
  return exponential(times(exponent, logarithm(base)))
}

function repeated(base: Approximate, exponent: number): Approximate {
  let value: Approximate = { re: 1, im: 0, error: 0 }
  let square = base
  for (let left = Math.abs(exponent); left > 0; left >>= 1) {
    if (left % 2 === 1) value = times(value, square)
    if (left > 1) square = times(square, square)
  }
  return exponent < 0 ? over({ re: 1, im: 0, error: 0 }, value) : value
}

/** A real function. `slope` bounds its derivative near the argument. Undefined for non-real arguments. */
export function applied(f: (x: number) => number, slope: (x: number) => number, a: Approximate): Approximate {
  if (a.im !== 0) return undefinedValue
  const value = f(a.re)
  const error = Math.abs(slope(a.re)) * (a.error + epsilon * Math.abs(a.re))
  return rounded(value, 0, error)
}
