/**
 * Secrets that no output may show: errors, the log, `check`, the API. They are kept for the whole process,
 * like the environment. A shown text has `${NAME}` instead of the value of NAME, and addresses without user
 * and password.
 */
const names = new Map<string, string>()

/** A shorter value is a word that any text may contain. */
const shortest = 6
const mostNames = 4096

/** From now on, `value` is shown as `${name}`. */
export function keepSecret(name: string, value: string | undefined): void {
  if (value === undefined) return
  const shown = `\${${name}}`
  // One variable may hold a list of keys. Addresses percent-encode a value, and JSON escapes it.
  for (const one of [value, ...value.split(/\s+/)])
    for (const form of [one, encodeURIComponent(one), encodeURI(one), JSON.stringify(one).slice(1, -1)])
      if (form.length >= shortest && !names.has(form) && names.size < mostNames) names.set(form, shown)
  pattern = null
}

/** Whether a variable's name suggests a secret: it ends in KEY, TOKEN, SECRET, PASSWORD or similar. */
export const isSecretName = (name: string): boolean =>
  // PWD is the shell's working directory.
  !/^(?:OLD)?PWD$/.test(name) &&
  /(?:KEYS?|TOKENS?|SECRETS?|PASS|PASSWORDS?|PASSWD|PASSPHRASE|PWD?|CREDENTIALS?|AUTH|COOKIE)_?\d*$/i.test(
    name,
  )

let pattern: RegExp | null = null

/** The text with every secret replaced. */
export function hideSecrets(text: string): string {
  const plain = text.includes('@') ? text.replace(userInfo, '$1') : text
  if (names.size === 0) return plain
  // Longest first, because one secret may start with another.
  pattern ??= new RegExp(
    [...names.keys()]
      .sort((a, b) => b.length - a.length)
      .map((value) => value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
      .join('|'),
    'g',
  )
  return plain.replace(pattern, (value) => names.get(value) ?? '')
}

/** `user:password@` in an address. */
const userInfo = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#'"<>]{1,512}@/gi

/** A JSON value with every secret in its texts replaced. */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return hideSecrets(value)
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutSecrets(one)]))
}
