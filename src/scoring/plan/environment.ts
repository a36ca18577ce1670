import { isSecretName, keepSecret } from '../../core/secrets.ts'

/** The variables that configs may name; process.env, or a test's own. */
export type Environment = Readonly<Record<string, string | undefined>>

const reference = /\$?\$\{([^${}]*)\}/g
const named = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

/**
 * Fills `${NAME}` and `${NAME:-default}` in one pass: what a variable holds is not searched again. An empty variable
 * counts as unset; `$${` stands for `${`. What a variable with the name of a secret holds is shown nowhere from here on.
 */
export function substitute(
  text: string,
  env: Environment,
): { readonly text: string; readonly mistakes: readonly string[] } {
  const mistakes: string[] = []
  const filled = text.replaceAll(reference, (whole: string, inner: string) => {
    if (whole.startsWith('$$')) return whole.slice(1)
    const [, name = '', fallback] = named.exec(inner) ?? []
    if (name === '') {
      mistakes.push(`'${whole}' is not of the form \${NAME} or \${NAME:-default}; write $\${ for a plain \${`)
      return ''
    }
    const own = Object.hasOwn(env, name) ? env[name] : undefined
    if (isSecretName(name)) keepSecret(name, own)
    const value = own || fallback
    if (value === undefined) {
      mistakes.push(`the environment variable ${name} is not set; set it, or write \${${name}:-default}`)
    }
    return value ?? ''
  })
  return { text: filled, mistakes }
}
