import type { SourceTexts } from './source-text.ts'

/** A reward function's file; `name` is the file's name without its ending. */
export interface FunctionSource {
  readonly name: string
  readonly file: string
  /** `native`: part of this package; `jiti`: a user's TypeScript or JavaScript. */
  readonly loader: 'native' | 'jiti' | 'python'
  /** SHA-256 of the file and of the files that it imports from beside it, hex. */
  readonly hash: string
  /** What the hash is of. Executors run this text, whenever they start; empty for the package's own functions. */
  readonly texts: SourceTexts
}
