import { existsSync, readFileSync } from 'node:fs'

// The package's root is two folders up from src/core, three from dist/src/core.
const file = ['../../package.json', '../../../package.json']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url))

/** The version in package.json. */
export const packageVersion: string = file ? JSON.parse(readFileSync(file, 'utf8')).version : 'unknown'
