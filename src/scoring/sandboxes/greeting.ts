/** What the greeting of a zygote means: whether programs can be run here, and how they are confined. */

import { GatewayError } from '../../core/errors.ts'
import type { Greeting } from './zygote.ts'

/** Throws RG_CONFIG_INVALID if nothing confines programs, or something is open to them. */
export function checkLevel({ level, missing, open }: Greeting): void {
  if (level !== 'none' && open.length === 0) return
  const why = level === 'none' ? missing.join('; ') : `a confined program ${open.join(', ')}`
  throw new GatewayError(
    'RG_CONFIG_INVALID',
    `programs cannot be confined on this machine: ${why}. Run the gateway on Linux 5.13 or later with Landlock, let servers run them (backend: reward-gateway), or write isolation: unconfined if you trust the programs`,
  )
}

/** Throws RG_CONFIG_INVALID if a language that was asked for cannot be run. */
export function checkLanguages({ absent }: Greeting): void {
  const [first] = Object.entries(absent)
  if (first === undefined) return
  const [name, why] = first
  const needs = name === 'cpp' ? 'g++ with static libraries' : 'Node 18 or later'
  throw new GatewayError(
    'RG_CONFIG_INVALID',
    `programs in ${name} cannot be run: ${why}; install ${needs}, or take ${name} out of \`languages\``,
  )
}

const levels = ['none', 'landlock', 'namespaces'] as const

/** How a later process confines programs worse than the first one did. null: it does not. */
export function worseThan(first: Greeting, later: Greeting): string | null {
  const added = (some: readonly string[], others: readonly string[]) =>
    others.filter((one) => !some.includes(one))
  const opened = added(first.open, later.open)
  const isLower = levels.indexOf(later.level) < levels.indexOf(first.level)
  const isWeaker =
    later.level === first.level &&
    later.missing.includes('no Landlock') &&
    !first.missing.includes('no Landlock')
  if (!isLower && !isWeaker && opened.length === 0) return null
  const how = isLower
    ? `only at the level '${later.level}', not '${first.level}' as at the start`
    : 'worse than at the start'
  const why = [...added(first.missing, later.missing), ...opened.map((one) => `a program ${one}`)]
  return `a new process can confine programs ${how}${why.length > 0 ? ` (${why.join('; ')})` : ''}`
}

/** How programs are confined, in words. */
export function confinementText({ level, open, missing, python, languages }: Greeting): string {
  const how = {
    namespaces:
      missing.length === 0
        ? 'programs run in namespaces of their own, with Landlock and seccomp'
        : `programs run in namespaces of their own, with seccomp (${missing.join('; ')})`,
    landlock: `programs run with Landlock and seccomp (${missing.join('; ')})`,
    none: 'PROGRAMS ARE NOT CONFINED: they may do what the user of the gateway may',
  }[level]
  const closed = level === 'none' || open.length > 0 ? '' : '; network, files and other processes are closed'
  return `${how}${closed}; ${[`Python ${python}`, ...Object.values(languages)].join(', ')}`
}
