/** JSON-like data as a config holds it. */
export type Tree = null | boolean | number | string | readonly Tree[] | { readonly [key: string]: Tree }

/**
 * VeRL-with-RMs' way of writing several reward models into one section: one config for each place of its lists, which
 * must all be of one length (lists inside lists too). Without a list the config itself; throws RangeError otherwise.
 */
export function expandConfig(config: Tree): readonly Tree[] {
  const lengths = new Set(listLengths(config))
  if (lengths.size > 1)
    throw new RangeError(`lists of ${[...lengths].sort((a, b) => a - b).join(' and ')} entries`)
  const [count] = lengths
  return count === undefined ? [config] : Array.from({ length: count }, (_, index) => chosen(config, index))
}

/** Every list of a config by its dotted key, with its length. */
export function listsIn(config: Tree, at = ''): readonly { readonly key: string; readonly length: number }[] {
  if (!isTree(config)) return []
  const own = Array.isArray(config) ? [{ key: at, length: config.length }] : []
  return [
    ...own,
    ...Object.entries(config).flatMap(([key, item]) => listsIn(item, at === '' ? key : `${at}.${key}`)),
  ]
}

const listLengths = (config: Tree): readonly number[] => listsIn(config).map(({ length }) => length)

function chosen(value: Tree, index: number): Tree {
  if (!isTree(value)) return value
  if (Array.isArray(value)) return chosen(value[index], index)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, chosen(item, index)]))
}

const isTree = (value: Tree): value is Exclude<Tree, string | number | boolean | null> =>
  typeof value === 'object' && value !== null
