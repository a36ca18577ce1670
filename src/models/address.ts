import { GatewayError } from '../errors.ts'

/** An instance's address in its one form: scheme, host, port and path, no slash at the end. Throws RG_REQUEST_INVALID. */
export function addressOf(text: string): string {
  const url = URL.parse(text)
  const isPlain =
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.username === '' &&
    url.password === '' &&
    url.search === '' &&
    url.hash === ''
  if (!isPlain)
    throw new GatewayError(
      'RG_REQUEST_INVALID',
      `'${text}' is not the http:// or https:// address of a server`,
    )
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** Whether an address fits one of the patterns; `*` is any text without a dot, colon or slash. */
export function isAllowed(address: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => fits(address, pattern.replace(/\/+$/, '')))
}

/** In one pass over both: a pattern of an operator, an address of anyone. */
function fits(address: string, pattern: string): boolean {
  const pieces = pattern.split('*')
  let at = 0
  for (const [index, piece] of pieces.entries()) {
    if (index === 0) {
      if (!address.startsWith(piece)) return false
      at = piece.length
      continue
    }
    const end = index === pieces.length - 1 && piece === '' ? address.length : address.indexOf(piece, at)
    if (end < 0 || /[.:/]/.test(address.slice(at, end))) return false
    at = end + piece.length
  }
  return at === address.length
}
