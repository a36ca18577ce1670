/** `npm run generate`: writes what the code says of itself in other files; with `index` only the list of trainer formats. */
import { readFileSync, writeFileSync } from 'node:fs'
import { generated, trainerIndex, trainerIndexFile } from './support/generated.ts'

const texts = process.argv[2] === 'index' ? [[trainerIndexFile, trainerIndex()] as const] : await generated()
for (const [file, text] of texts) {
  if (readFileSync(file, 'utf8') === text) continue
  writeFileSync(file, text)
  process.stdout.write(`${file}\n`)
}
