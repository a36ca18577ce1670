/** Pure readers of model text. All of it is hostile: no reader is slower than n log n, and none throws. */
export * from './blocks.ts'
export * from './json.ts'
export * from './json-difference.ts'
export * from './json-identity.ts'
