import { z } from 'zod'
import type { Problem } from '../../../core/errors.ts'
import { didYouMean } from '../../../core/nearest-name.ts'

type Issue = z.core.$ZodIssue

/** What a schema of a function's author finds wrong: a problem for each issue, with its path. Never quotes the value. */
export function problemsOf({ issues }: z.ZodError): Problem[] {
  const all = issues.flatMap(meant)
  // As many as the schema names, however many items lack them.
  const missing = new Set(all.filter(isMissing).map(({ path }) => String(path.at(-1) ?? '')))
  return all.map((issue) => ({
    path: z.core.toDotPath([...issue.path]),
    message: messageOf(issue) + meantKeys(issue, missing),
  }))
}

const isMissing = ({ code, message }: Issue): boolean =>
  code === 'invalid_type' && message.endsWith('received undefined')

/** Unknown keys that are named; more are no typos. */
const mostKeys = 4

/** Which missing field an unknown key was meant to be. */
const meantKeys = (issue: Issue, missing: ReadonlySet<string>): string =>
  issue.code === 'unrecognized_keys' && issue.keys.length <= mostKeys
    ? issue.keys.map((key) => didYouMean(key, missing)).join('')
    : ''

/** The issues of the union's alternative that has the value's type, if there is one: the author of the row meant that one. */
function meant(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const inner = issue.errors.find(
    (issues) => !issues.some(({ code, path }) => path.length === 0 && isOfType(code)),
  )
  if (!inner || inner.length === 0) return [issue]
  return inner.flatMap((one) => meant({ ...one, path: [...issue.path, ...one.path] }))
}

const isOfType = (code: Issue['code']): boolean => code === 'invalid_type' || code === 'invalid_union'

/** Zod's message without the words that hold for every issue; for a union, the types that it takes. */
function messageOf(issue: Issue): string {
  const { message } = issue
  if (issue.code === 'invalid_type' && isMissing(issue)) return `is missing (expected ${issue.expected})`
  if (message !== noise) return message.startsWith(`${noise}: `) ? message.slice(noise.length + 2) : message
  const expected = issue.code === 'invalid_union' ? issue.errors.flatMap(typesOf) : []
  return expected.length === 0
    ? "the function's schema refuses it"
    : `expected ${[...new Set(expected)].join(' or ')}`
}

const noise = 'Invalid input'

const typesOf = (issues: readonly Issue[]): string[] =>
  issues.flatMap((issue) =>
    issue.code === 'invalid_type'
      ? [issue.expected]
      : issue.code === 'invalid_union'
        ? issue.errors.flatMap((inner) => typesOf(inner))
        : [],
  )
