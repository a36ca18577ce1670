import { writeFile } from 'node:fs/promises'
import { compareAnswers, type Part } from '../analysis/policy-comparison.ts'
import { GatewayError } from '../errors.ts'
import { finiteNumber, oneOf, parsed, wholeNumber } from './arguments.ts'
import type { Command } from './command.ts'
import { policyFiles, readPolicies } from './policy-files.ts'
import { comparisonCsv, comparisonMarkdown } from './policy-formats.ts'
import { comparisonHtml } from './policy-html.ts'
import { comparisonText, evaluationText } from './policy-text.ts'

const usage = `reward-gateway compare BASE [TRAINED...] [--format text|csv|markdown|json|html] [--output FILE]
                       [--k N] [--solved-at N] [--rounds N] [--seed N]

Compares policies that answered the same data: scored files of 'evaluate', or folders of a suite's. Mean score, pass@1,
pass@k, maj@k, entropy, length; each with a 95 % interval, and the differences from BASE with theirs, row by row; mean
and deviation over runs; by data source, benchmark and suite. One file alone gets its figures. docs/evaluate.md.

--k          the k of pass@k and maj@k (default: as the runs said, else the answers of a run)
--solved-at  a reward of so much is a success (default: as the runs said, else 1)
--rounds     samples that the bootstrap draws (default 2000), repeatably by --seed (default 0)`

const formats = ['text', 'csv', 'markdown', 'json', 'html'] as const

export const command: Command = {
  summary: 'compares policies on the same data',
  usage,
  async run(argv, io) {
    const { values, positionals } = parsed({
      args: [...argv],
      allowPositionals: true,
      options: {
        format: { type: 'string', default: 'text' },
        output: { type: 'string' },
        k: { type: 'string' },
        'solved-at': { type: 'string' },
        rounds: { type: 'string', default: '2000' },
        seed: { type: 'string', default: '0' },
      },
    })
    const format = oneOf('format', values.format, formats)
    if (positionals.length === 0) throw new GatewayError('RG_COMMAND_INVALID', `BASE is needed.\n${usage}`)
    const k = values.k === undefined ? null : wholeNumber('k', values.k, 1, 1024)
    const solvedAt = values['solved-at'] === undefined ? null : finiteNumber('solved-at', values['solved-at'])
    const rounds = wholeNumber('rounds', values.rounds, 100, 100_000)
    const seed = wholeNumber('seed', values.seed, 0, 0xffff_ffff)
    const policies = await policyFiles(positionals)
    const names = policies.map(({ name }) => name)
    const { answers, kOf, solvedAtOf, warnings } = await readPolicies(policies, { k, solvedAt }, io)
    for (const warning of warnings) io.stderr.write(`${warning}\n`)
    const parts = compareAnswers(answers, { kOf, solvedAtOf, rounds, seed })
    const text = writers[format](parts, names)
    if (values.output === undefined) io.stdout.write(text)
    else await writeFile(values.output, text)
    return 0
  },
}

const writers: Readonly<
  Record<(typeof formats)[number], (parts: readonly Part[], names: readonly string[]) => string>
> = {
  text: (parts, names) => (names.length === 1 ? evaluationText(parts) : comparisonText(parts, names)),
  csv: comparisonCsv,
  markdown: comparisonMarkdown,
  json: (parts, names) => `${JSON.stringify({ policies: names, parts }, null, 2)}\n`,
  html: comparisonHtml,
}
