/** The result of an import. Nothing has been written yet. */
export interface Imported {
  /** Paths are relative to the config's folder. */
  readonly files: readonly { readonly path: string; readonly text: string }[]
  /** One sentence each. */
  readonly notes: readonly string[]
  /** Settings without a counterpart: `key: reason`. */
  readonly dropped: readonly string[]
}

/** Derives a model's name from its path or hub name: `/models/Qwen2.5-7B` becomes `qwen2.5-7b`. */
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

/** Names models by their paths. A different path with the same name gets a number. */
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
