/** A reward function's file; `name` is the file's name without its ending. */
export interface FunctionSource {
  readonly name: string
  readonly file: string
  /** `native`: part of this package; `jiti`: a user's TypeScript or JavaScript. */
  readonly loader: 'native' | 'jiti' | 'python'
  /** SHA-256 of the file and of the files that it imports by relative paths, hex. */
  readonly hash: string
}
