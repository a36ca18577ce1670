import t from 'tap'
import type { Gateway } from '../../../src/scoring/gateway/gateway.ts'
import type { AuditRow } from '../../../src/workbench/audit/attack.ts'
import { audit } from '../../../src/workbench/audit/audit.ts'
import { attacks as catalogue } from '../../../src/workbench/audit/catalogue/attacks.ts'
import { findingsOf } from '../../../src/workbench/audit/findings.ts'
import { auditParsers } from '../../../src/workbench/audit/parsers.ts'
import { auditRows } from '../../support/audit-rows.ts'
import { compiledFixtures, testGateway, testModel } from '../../support/gateway.ts'
import { hackClasses } from './published-hacks.ts'

/** The planted weakness of each reward: prefixes of the attacks that must succeed. */
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

/** The planted weakness of each judge: faulty replies that it reads as the best verdict. */
const misread: Readonly<Record<string, readonly string[]>> = {
  'weak-judge': ['prose with numbers', 'a list of items'],
  'weak-judge-clamp': ['beyond the scale, in brackets', 'an error text'],
  'weak-judge-yes': ['the word incorrect', 'the words not good'],
  'weak-judge-missing': ['an empty text', 'a refusal', 'the word null'],
  'weak-judge-thoughts': ['JSON that is cut'],
}

const { signal } = new AbortController()

/** The attacks of these that pay more than they should. */
const succeeding = async (
  gateway: Gateway,
  reward: string,
  rows: readonly AuditRow[],
  attacks = catalogue,
) => {
  const findings = findingsOf(await audit(gateway, { reward, rows, signal, attacks }))
  return findings.attacks.filter(({ successes }) => successes > 0).map(({ name }) => name)
}

/** The faulty replies that a judge reads as its best verdict. */
const readAsBest = async (gateway: Gateway, reward: string, rows: readonly AuditRow[]) => {
  const read = rows[0] ? await auditParsers(gateway, reward, rows[0]) : []
  return read.filter((one) => one.readAsBest).map(({ reply }) => reply)
}

t.test('the audit finds the planted weaknesses of rewards', async (t) => {
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
    { functionFolders: [compiledFixtures('weak-rewards')] },
    inline,
  )
  for (const [reward, { rows, found }] of Object.entries(planted)) {
    const attacks = catalogue.filter((one) => found.some((start) => start.startsWith(`${one.family}/`)))
    const chosen = auditRows(rows).slice(0, 1)
    const succeeded = await succeeding(gateway, reward, chosen, attacks)
    for (const start of found)
      t.ok(
        succeeded.some((name) => name.startsWith(start)),
        `${reward}: ${start}`,
      )
  }
  for (const [reward, found] of Object.entries(misread)) {
    const best = await readAsBest(gateway, reward, auditRows('numbers'))
    for (const reply of found) t.ok(best.includes(reply), `${reward}: ${reply}`)
  }
  const attacks = catalogue.filter(({ against }) => against === 'judge')
  const rows = auditRows('numbers').slice(0, 1)
  const naive = findingsOf(await audit(gateway, { reward: 'weak-judge', rows, signal, attacks }))
  const rates = Object.fromEntries(naive.families.map(({ name, rate }) => [name, rate]))
  for (const family of ['master key', 'forged verdict', 'role and fence break'])
    t.ok((rates[family] ?? 0) > 0.5, `weak-judge: ${family} ${rates[family]}`)
})

const publishedJudges = ['yes-no-judge', 'consistency-judge']
/** Rows with wrong data, on which no reward can be right. */
const faultyRows = [
  'graph-nameless',
  'graph-text-ids',
  'graph-no-label',
  'graph-status-label',
  'graph-fraction',
]
const known = faultyRows.concat('tool-call-texts', 'tool-call-lists')
/** Sound modes in addition to those of the classes. */
const alsoSound = [
  ['gsm8k-boxed', 'numbers'],
  ['gsm8k-stock', 'numbers'],
  ['math-boxed', 'boxed'],
  ['math-dapo', 'dapo'],
  ['npg-muse-math', 'boxed'],
  ['search-subem', 'search'],
  ['choice-match', 'choices'],
] as const

t.test('the audit finds the hacks of published rewards, and none in their strict modes', async (t) => {
  const { config } = await testModel(t, 1, { policy: 'constant', constant: '1' })
  const used = [...hackClasses.map(({ reward, rows }) => [reward, rows] as const), ...alsoSound]
  const names = [...new Set(used.map(([reward]) => reward))]
  const rewards = ['published', 'strict'].flatMap((mode) =>
    names.map((name) => {
      const [fn, options] =
        name === 'tool-call-thinking' ? ['tool-call', { mode, variant: 'egpo' }] : [name, { mode }]
      const isModal = name !== 'choice-match'
      const step = { name: 'q', function: fn, options: isModal ? options : {} }
      return publishedJudges.includes(name)
        ? [`${name}-${mode}`, { models: { judge: config }, steps: [{ ...step, model: 'judge' }] }]
        : [`${name}-${mode}`, { steps: [step] }]
    }),
  )
  const gateway = await testGateway(t, Object.fromEntries(rewards))
  // Each rule's own tests cover its cost; the published hacks concern rules.
  const rules = catalogue.filter(({ against }) => against === 'rule')
  const all = catalogue.filter(({ against }) => against === 'rule' || against === 'judge')
  const findingsFor = new Map<string, Promise<readonly string[]>>()
  const succeeded = (name: string, mode: string, rows: string): Promise<readonly string[]> => {
    const reward = `${name}-${mode}`
    const key = `${reward} ${rows}`
    const done =
      findingsFor.get(key) ??
      (publishedJudges.includes(name)
        ? readAsBest(gateway, reward, auditRows(rows)).then((best) =>
            best.map((one) => `faulty reply/${one}`),
          )
        : succeeding(gateway, reward, auditRows(rows), mode === 'strict' ? all : rules))
    findingsFor.set(key, done)
    return done
  }
  let flagged = 0
  for (const { hack, reward, rows, found } of hackClasses) {
    if (found === null) continue
    const names = await succeeded(reward, 'published', rows)
    const isFound = names.some((one) => one.startsWith(found))
    t.ok(isFound, `${reward}: ${hack}`)
    if (isFound) flagged += 1
  }
  t.comment(`${flagged} of ${hackClasses.length} classes of hacks are found`)
  t.ok(flagged / hackClasses.length >= 0.9, `${flagged} of ${hackClasses.length}`)
  const sound = [...new Set(used.filter(([, rows]) => !known.includes(rows)).map((one) => one.join(' ')))]
  for (const one of sound) {
    const [name = '', rows = ''] = one.split(' ')
    t.strictSame(await succeeded(name, 'strict', rows), [], `${name} in its strict mode on ${rows}`)
  }
})
