import t from 'tap'
import { compiledFixtures, testGateway } from '../../support/gateway.ts'
import { configOf, detect, detections } from './detection.ts'

/** A part of `npm run audit:detector`: weak rules of several kinds, old readings, and right rules. */
const chosen = detections.filter(
  ({ group, reader }) =>
    [
      ...['last number', 'English denials', 'some citation', 'words between blanks', 'any character is text'],
      ...['refuses other letters', 'F4 choice-match', 'F6 numeric-match', 'F7 math-boxed'],
    ].includes(reader) ||
    (group === 'right' && /mark|choice|formula|citations|tags/.test(reader)),
)

t.test(
  'the audit finds planted weaknesses and old readings, and raises no alarm on right rules',
  async (t) => {
    const rules = Object.fromEntries(chosen.map((one, at) => [`rule-${at}`, configOf(one)]))
    const gateway = await testGateway(t, rules, { functionFolders: [compiledFixtures('detector')] })
    for (const [at, one] of chosen.entries()) {
      const { group, reader, paid = [], refused = [] } = one
      const found = await detect(gateway, `rule-${at}`, one, 2000)
      for (const family of paid) t.ok(found.paid.has(family), `${group} ${reader}: ${family} is paid`)
      for (const family of refused)
        t.ok(found.refused.has(family), `${group} ${reader}: ${family} is refused`)
      if (group === 'right') t.strictSame(found.alarms, [], reader)
    }
  },
)
