import { GatewayError } from '../../../core/errors.ts'

/** What the address of an instance must be and `text` is not, without quoting it; null if it is valid. */
export function addressFault(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return 'the http:// or https:// address of a server'
  if (url.username !== '' || url.password !== '')
    return "an address without user and password, since metrics, logs and results show it; name the key's variable in api_key_env"
  if (text.includes('?')) return "an address without '?', because request paths are appended to it"
  return text.includes('#') ? "an address without '#'" : null
}

/** Normalizes an address: scheme, host, port and path, without a trailing slash. Throws RG_REQUEST_INVALID. */
export function addressOf(text: string): string {
  const fault = addressFault(text)
  const url = fault === null ? URL.parse(text) : null
  if (url === null)
    throw new GatewayError('RG_REQUEST_INVALID', `the address of an instance must be ${fault}`)
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** Whether an address matches one of the patterns; `*` matches any text without a dot, colon or slash. */
export function isAllowed(address: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => fits(address, pattern.replace(/\/+$/, '')))
}

/** One pass over both: the pattern comes from an operator, but the address from anyone. */
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

/** The addresses in a file: a JSON list, or one per line with `#` comments; null if it is neither. */
export function readAddresses(text: string): string[] | null {
  const trimmed = text.trim()
  if (trimmed.startsWith('[')) {
    try {
      const list: unknown = JSON.parse(trimmed)
      return Array.isArray(list) && list.every((entry) => typeof entry === 'string') ? list : null
    } catch {
      return null
    }
  }
  const lines = trimmed
    .split('\n')
    .map((line) => line.replace(/#.*$/, '').trim())
    .filter((line) => line !== '')
  // A file is empty for a moment while it is being written. To remove all instances, write [].
  return lines.length > 0 ? lines : null
}
