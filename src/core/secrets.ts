/**
 * What no output may show: errors, the log, `check`, the API. It is kept for the whole process, as the environment is.
 * A text is shown with `${NAME}` in place of what the variable NAME holds, and an address without user and password.
 */
const names = new Map<string, string>()

/** A shorter value is a word that any text may hold. */
const shortest = 6
const mostNames = 4096

/** From here on `value` is shown as `${name}`. */
export function keepSecret(name: string, value: string | undefined): void {
  if (value === undefined) return
  const shown = `\${${name}}`
  // A list of keys may stand in one variable; an address holds a value percent-encoded, JSON escaped.
  for (const one of [value, ...value.split(/\s+/)])
    for (const form of [one, encodeURIComponent(one), encodeURI(one), JSON.stringify(one).slice(1, -1)])
      if (form.length >= shortest && !names.has(form) && names.size < mostNames) names.set(form, shown)
  pattern = null
}

/** Whether a variable is called as one that holds a secret is: it ends in KEY, TOKEN, SECRET, PASSWORD or the like. */
export const isSecretName = (name: string): boolean =>
  // Every shell calls the folder that it is in so.
  !/^(?:OLD)?PWD$/.test(name) &&
  /(?:KEYS?|TOKENS?|SECRETS?|PASS|PASSWORDS?|PASSWD|PASSPHRASE|PWD?|CREDENTIALS?|AUTH|COOKIE)_?\d*$/i.test(
    name,
  )

let pattern: RegExp | null = null

/** The text as it may be shown. */
export function hideSecrets(text: string): string {
  const plain = text.includes('@') ? text.replace(userInfo, '$1') : text
  if (names.size === 0) return plain
  // The longest first: one secret may begin as another does.
  pattern ??= new RegExp(
    [...names.keys()]
      .sort((a, b) => b.length - a.length)
      .map((value) => value.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
      .join('|'),
    'g',
  )
  return plain.replace(pattern, (value) => names.get(value) ?? '')
}

/** `user:password@` of an address. */
const userInfo = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#'"<>]{1,512}@/gi

/** A JSON value with every text in it as it may be shown. */
export function withoutSecrets(value: unknown): unknown {
  if (typeof value === 'string') return hideSecrets(value)
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutSecrets(one)]))
}
