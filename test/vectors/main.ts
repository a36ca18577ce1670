import { runFile } from './run.ts'

/** `npm run vectors -- PATH...`: runs vector files against the implementation; exit 1 if any answer differs. */
async function main(paths: readonly string[]): Promise<number> {
  if (paths.length === 0) {
    console.error('usage: npm run vectors -- PATH...')
    return 1
  }
  let failed = false
  for (const path of paths) {
    try {
      const { passed, total, differing, elsewhere } = await runFile(path)
      console.log(`${path} ${passed}/${total}`)
      for (const line of [...elsewhere, ...differing]) console.log(`  ${line}`)
      failed ||= passed < total
    } catch (error) {
      console.error(error instanceof Error ? error.message : error)
      failed = true
    }
  }
  return failed ? 1 : 0
}

process.exitCode = await main(process.argv.slice(2))
