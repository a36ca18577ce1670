import { existsSync, readFileSync } from 'node:fs'

// The package root is two folders above src/core and three above dist/src/core.
const file = ['../../package.json', '../../../package.json']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(url))

export const packageVersion: string = file ? JSON.parse(readFileSync(file, 'utf8')).version : 'unknown'
