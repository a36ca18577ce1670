/** What an import made of somebody's settings. Nothing is written here. */
export interface Imported {
  /** Their paths are relative to the folder that the config is for. */
  readonly files: readonly { readonly path: string; readonly text: string }[]
  /** What to know about them, a sentence each. */
  readonly notes: readonly string[]
  /** Settings that have no place here: `key: why`. */
  readonly dropped: readonly string[]
}
