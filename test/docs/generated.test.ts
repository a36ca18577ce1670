import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { builtInFunctions, functionsPage, generated, optionsOf } from '../support/generated.ts'

t.test('what the code says of itself in other files is what `npm run generate` writes', async (t) => {
  for (const [file, text] of await generated())
    t.equal(readFileSync(file, 'utf8'), text, `${file} is up to date: npm run generate`)
})

t.test('every reward function has a test, and a row that is whole and names its options', async (t) => {
  const folder = 'test/reward-functions'
  const tests = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
  const page = readFileSync(functionsPage, 'utf8')
  for (const [name, fn] of await builtInFunctions()) {
    const isTested = tests.some((text) => text.includes(`/reward-functions/${name}.ts'`))
    t.ok(isTested, `${name}: write ${folder}/${name}.test.ts (docs/recipes/add-a-rule.md)`)
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? ''
    t.not(row, '', `${functionsPage} has a row of ${name}`)
    const [, , , , options = '', from = ''] = row.split(/(?<!\\)\|/).map((cell) => cell.trim())
    for (const option of optionsOf(fn))
      t.ok(options.includes(option), `${functionsPage}: the row of ${name} names its option ${option}`)
    t.notOk([options, from].includes('?'), `${functionsPage}: say in the row of ${name} what ? stands for`)
  }
})
