/** What an import made of somebody's settings. Nothing is written here. */
export interface Imported {
  /** Their paths are relative to the folder that the config is for. */
  readonly files: readonly { readonly path: string; readonly text: string }[]
  /** What to know about them, a sentence each. */
  readonly notes: readonly string[]
  /** Settings that have no place here: `key: why`. */
  readonly dropped: readonly string[]
}

/** A model's global name from its path or hub name: `/models/Qwen2.5-7B` is `qwen2.5-7b`. */
function modelName(path: string): string {
  const last = path.replace(/\/+$/, '').replace(/^.*\//, '')
  const name = last
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .slice(0, 80)
    .replace(/^[._-]+|[._-]+$/g, '')
  return name === '' ? 'model' : name
}

/** The environment variable for the address of a model's server. */
export const addressVariable = (name: string): string =>
  `${name
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)/, 'MODEL_')}_URL`

/** Gives each path one name: the same path the same, another of the same name a number. Remembers what it gave. */
export function modelNames(taken: readonly string[] = []): (path: string) => string {
  const pathOf = new Map<string, string>(taken.map((name) => [name, '']))
  return (path) => {
    const plain = modelName(path)
    for (let count = 1; ; count++) {
      const name = count === 1 ? plain : `${plain}-${count}`
      const other = pathOf.get(name)
      if (other !== undefined && other !== path) continue
      pathOf.set(name, path)
      return name
    }
  }
}
