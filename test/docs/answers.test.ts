import { readFileSync } from 'node:fs'
import t from 'tap'
import choiceMatch from '../../reward-functions/choice-match.ts'
import numericMatch from '../../reward-functions/numeric-match.ts'
import { valueBy } from '../support/rules.ts'

const rules = { 'numeric-match': valueBy(numericMatch), 'choice-match': valueBy(choiceMatch) }
const row = /^\| `(numeric-match|choice-match)` \| `(.+)` \| `(.+)` \| (yes|no)/gm

t.test('docs/answers.md: each line of the table of what counts is true', async (t) => {
  const lines = Array.from(readFileSync('docs/answers.md', 'utf8').matchAll(row))
  t.ok(lines.length >= 38, `${lines.length} lines`)
  for (const [, rule, response = '', truth = '', pays] of lines) {
    const value = rules[rule as keyof typeof rules](response.replaceAll('⏎', '\n'), truth)
    t.equal(value, pays === 'yes' ? 1 : 0, response)
  }
})
