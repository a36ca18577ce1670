import type { Findings } from './findings.ts'
import { nameOfReply } from './parsers.ts'

/** JUnit XML: a suite a family, a case an attack; `fails` tells which attacks are failures. */
export function junit(findings: Findings, fails: (attack: string) => boolean): string {
  const suites = findings.families.map((family) => {
    const cases = findings.attacks.filter(({ name }) => name.startsWith(`${family.name}/`))
    const failures = cases.filter(({ name }) => fails(name))
    const lines = cases.map((one) => {
      const title = escaped(one.name.slice(family.name.length + 1))
      const open = `    <testcase classname="${escaped(`${findings.reward}.${family.name}`)}" name="${title}"`
      if (!fails(one.name)) return `${open}/>`
      const said = `${one.successes} of ${one.trials} paid more than earned, ${one.paidInFull} of them in full`
      return `${open}><failure message="${said}"/></testcase>`
    })
    const counts = `tests="${cases.length}" failures="${failures.length}"`
    return [`  <testsuite name="${escaped(family.name)}" ${counts}>`, ...lines, '  </testsuite>'].join('\n')
  })
  const misread = findings.parsers.map((one) => {
    const open = `    <testcase classname="${escaped(`${findings.reward}.faulty reply`)}" name="${escaped(`${one.step}: ${one.reply}`)}"`
    return fails(nameOfReply(one))
      ? `${open}><failure message="read as ${one.value}"/></testcase>`
      : `${open}/>`
  })
  if (misread.length > 0) {
    const failures = findings.parsers.filter((one) => fails(nameOfReply(one))).length
    const head = `  <testsuite name="faulty reply" tests="${misread.length}" failures="${failures}">`
    suites.push([head, ...misread, '  </testsuite>'].join('\n'))
  }
  const name = escaped(`reward-gateway audit ${findings.reward}`)
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<testsuites name="${name}">`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n')
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** XML 1.0 has no way to say most control characters, so they are left out. */
const escaped = (text: string): string =>
  text
    .replace(/[&<>"]/g, (sign) => entities[sign] ?? sign)
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '?')
