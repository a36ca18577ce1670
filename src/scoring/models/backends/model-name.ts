/** Whether the model that a hosted server names is the one that was asked. */

/**
 * What hosted servers add to a name: a date or a version, such as `-2026-01-01`, `-0613`, `-002`, `@20260101`, `-v2`, `-v1:0`. Other words
 * name another model: `-mini`, `-32k`, `-8b`.
 */
const suffix =
  /^(?:[-@](?:preview-)?(?:\d{4}-\d{2}-\d{2}|\d{2}-\d{2}(?:-\d{4})?|\d{8}|\d{3,4})(?:-preview)?)?(?:[-@:]v\d{1,3}(?:\.\d{1,3})?)?(?::(?:\d{1,3}|latest))?$/

/** Whether the last parts of a path are those of the other one, whichever is longer, but for what a server adds. */
function isSameModel(asked: string, from: string): boolean {
  const [own, named] = [asked.split('/'), from.split('/')]
  const count = Math.min(own.length, named.length)
  const [last = '', ...provider] = own.slice(-count).reverse()
  const [said = '', ...theirs] = named.slice(-count).reverse()
  if (provider.some((part, at) => part !== theirs[at])) return false
  return said.startsWith(last) && suffix.test(said.slice(last.length))
}

/** Whether a reply comes from one of these models. Hosted servers add a date or a version, and add or leave out the provider. */
export const isOneOf = (names: readonly string[], from: string): boolean =>
  names.some((name) => isSameModel(name, from))
