/** A reward function's file; `name` is the file's name without its ending. */
export interface FunctionSource {
  readonly name: string
  readonly file: string
  /** Part of this package: imported natively, not through the users' loader. */
  readonly builtIn: boolean
  /** SHA-256 of the file and of the files that it imports by relative paths, hex. */
  readonly hash: string
}
