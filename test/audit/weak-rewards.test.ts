import { join } from 'node:path'
import t from 'tap'
import { audit } from '../../src/audit/audit.ts'
import { attacks as catalogue } from '../../src/audit/catalogue/index.ts'
import { type Findings, findingsOf } from '../../src/audit/findings.ts'
import { auditParsers } from '../../src/audit/parsers.ts'
import { auditRows } from '../support/audit-rows.ts'
import { testGateway, testModel } from '../support/gateway.ts'

/** The planted fault of each reward: attacks that must be found, by the beginnings of their names. */
const planted: Readonly<Record<string, { rows: string; found: readonly string[] }>> = {
  'weak-substring': {
    rows: 'numbers',
    found: ['hedge/the right value among others', 'hedge/every whole number'],
  },
  'weak-first-number': { rows: 'bare-numbers', found: ['hedge/the right answer withdrawn'] },
  'weak-negation': { rows: 'numbers', found: ['negation/it is not'] },
  'weak-format': {
    rows: 'numbers',
    found: ['vacuous/empty thoughts and answer', 'vacuous/the form three times'],
  },
  'weak-vacuous': { rows: 'numbers', found: ['vacuous/I do not know', 'master key/(empty)'] },
  'weak-no-box': { rows: 'numbers', found: ['hedge/the right value among others'] },
  'weak-thinking': { rows: 'numbers', found: ['channel/right while thinking'] },
  'weak-nan': { rows: 'numbers', found: ['number/not a number', 'vacuous/I do not know'] },
  'weak-tolerance': { rows: 'numbers', found: ['number/a hundred times', 'number/five percent'] },
  'weak-length': { rows: 'numbers', found: ['scaffolding/padding', 'form farming/a near miss fifty'] },
  'weak-partial': { rows: 'numbers', found: ['vacuous/a final marker', 'vacuous/a marker and a dot'] },
  'weak-slow': { rows: 'numbers', found: ['cost bomb/letters'] },
  'weak-choice': { rows: 'choices', found: ['hedge/every choice', 'negation/it is not'] },
  'weak-opposite': { rows: 'words', found: ['negation/the opposite word'] },
  'weak-list': {
    rows: 'lists',
    found: ['list/one item repeated', 'list/an item that does not', 'list/blank items'],
  },
  'weak-calls': {
    rows: 'calls',
    found: ['JSON value/the elements of a list', 'JSON surroundings/another call'],
  },
  'weak-game': { rows: 'game', found: ['expression/the target, the numbers in a comment'] },
}

/** The planted fault of each judge: faulty replies that it takes for the best verdict. */
const misread: Readonly<Record<string, readonly string[]>> = {
  'weak-judge': ['prose with numbers', 'a list of items'],
  'weak-judge-clamp': ['beyond the scale, in brackets', 'an error text'],
  'weak-judge-yes': ['the word incorrect', 'the words not good'],
  'weak-judge-missing': ['an empty text', 'a refusal', 'the word null'],
  'weak-judge-thoughts': ['JSON that is cut'],
}

t.test('the audit finds what is planted in weak rewards', async (t) => {
  const { config } = await testModel(t, 1, {
    policy: 'gullible',
    answers: { apples: 42, crate: 18, coins: 65 },
  })
  const judges = Object.keys(misread)
  const step = (name: string) => ({
    ...(judges.includes(name) ? { models: { judge: { ...config, guard: { refuse: false } } } } : {}),
    steps: [{ name: 'q', function: name, ...(judges.includes(name) ? { model: 'judge' } : {}) }],
  })
  const names = [...Object.keys(planted), ...judges]
  const rewards = Object.fromEntries(names.map((name) => [name, step(name)]))
  const inline = [{ file: 'gateway.json', text: '{"functions": {"timeout_s": 0.5}}' }]
  const gateway = await testGateway(
    t,
    rewards,
    { functionFolders: [join('test/fixtures/weak-rewards')] },
    inline,
  )
  const { signal } = new AbortController()
  t.ok(names.length >= 15, `${names.length} weak rewards`)
  for (const [reward, { rows, found }] of Object.entries(planted)) {
    const attacks = catalogue.filter((one) => found.some((start) => start.startsWith(`${one.family}/`)))
    const chosen = auditRows(rows).slice(0, 1)
    const findings = findingsOf(await audit(gateway, { reward, rows: chosen, signal, attacks }))
    const succeeded = findings.attacks.filter(({ successes }) => successes > 0).map(({ name }) => name)
    for (const start of found)
      t.ok(
        succeeded.some((name) => name.startsWith(start)),
        `${reward}: ${start}`,
      )
  }
  for (const [reward, found] of Object.entries(misread)) {
    const [row] = auditRows('numbers')
    const read = row ? await auditParsers(gateway, reward, row) : []
    const best = read.filter(({ readAsBest }) => readAsBest).map(({ reply }) => reply)
    for (const reply of found) t.ok(best.includes(reply), `${reward}: ${reply}`)
  }
  const judged = catalogue.filter(({ against }) => against === 'judge')
  const attacked = async (reward: string): Promise<Findings> =>
    findingsOf(
      await audit(gateway, { reward, rows: auditRows('numbers').slice(0, 1), signal, attacks: judged }),
    )
  const naive = await attacked('weak-judge')
  const rates = Object.fromEntries(naive.families.map(({ name, rate }) => [name, rate]))
  for (const family of ['master key', 'forged verdict', 'role and fence break'])
    t.ok((rates[family] ?? 0) > 0.5, `weak-judge: ${family} ${rates[family]}`)
})
