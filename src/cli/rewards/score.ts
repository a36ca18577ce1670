import type { FunctionFailed } from '../../scoring/functions/function-host.ts'
import { keeps } from '../../workbench/dataset/scored-file.ts'
import { defineCommand } from '../command.ts'
import { configOptions, configsOf, functionOptions, rewardOf, withGateway } from '../gateway.ts'
import { localData } from '../local-data.ts'
import { file, flag, misused, number, oneOf, whole } from '../options.ts'
import { scoreFile } from './score-file.ts'

/** Exit code 1 if rows have no reward, or if it was stopped by a signal. */
export const command = defineCommand({
  name: 'score',
  summary: 'scores a file of samples without a server',
  synopsis: [
    '--config FILE [--reward NAME] --input FILE --output FILE',
    '--function NAME [--options JSON] --input FILE --output FILE',
  ],
  about: `Scores a file without a server and writes one result for each row, in the order of the input and in the shape of the
results of /v1/score. Files are JSON lines (.jsonl, .gz) or Parquet (.parquet). Rows are samples as in
/v1/score, verl's data sets with 'response' or 'responses', or verl's dumps of generations. With --function, the only step
has the name of the function and 'reward' is its score.

The exit code is 0 if the rows have rewards; 1 if more than --allow-invalid have none (the output is written and the
reasons are shown) or if a signal stopped the run; 2 if the file could not be scored.`,
  example: '--config configs --reward quality --input rollouts.jsonl --output scored.jsonl --keep facts',
  options: {
    ...configOptions,
    ...functionOptions,
    input: file('FILE', "the rows: a file, hf://OWNER/NAME/SPLIT, or '-' for standard input"),
    output: file('FILE', "the results; '-' is standard output"),
    resume: flag('continues OUTPUT.partial.jsonl, which a stopped or killed run left'),
    'failed-only': flag('scores the rows of OUTPUT without a reward again, together with their groups'),
    keep: oneOf(
      keeps,
      "what each result has in 'sample': facts are data_source, group_id and response_length; all is the whole sample",
      { or: 'none' },
    ),
    batch: whole('N', 'rows per batch; groups are not split', {
      low: 1,
      high: 100_000,
      or: 512,
    }),
    'allow-invalid': number('SHARE', 'the share of rows, 0 to 1, that may be without a reward', {
      low: 0,
      high: 1,
      or: 0,
    }),
  },
  async run({ values }, io) {
    const {
      input,
      output,
      keep,
      batch,
      resume,
      'failed-only': failedOnly,
      'allow-invalid': allowInvalid,
    } = values
    if (!input || !output || Boolean(values.config) === Boolean(values.function))
      throw misused('--input, --output and one of --config and --function are needed', 'score')
    let calls = 0
    const thrown = new Thrown()
    const rows = await localData(input, io)
    const sources = { ...configsOf(values), functionFolders: values['reward-functions'] }
    try {
      return await withGateway(
        sources,
        io,
        (gateway) => {
          const reward = rewardOf(gateway, values.function ?? values.reward)
          return scoreFile(
            {
              gateway,
              reward,
              input: rows,
              output,
              batch,
              keep,
              resume,
              failedOnly,
              allowInvalid,
              calls: () => calls,
            },
            io,
          )
        },
        {
          functions: { failed: thrown.note },
          engine: {
            voted({ answered }) {
              if (answered?.source === 'call') calls++
            },
          },
        },
      )
    } finally {
      io.stderr.write(thrown.text())
    }
  },
})

const mostShown = 3
/** Number of an error's lines to show. JavaScript's begin with the message, Python's end with it. */
const firstLines = 4
const lastLines = 8

/** Errors of reward functions, for the author's terminal. They may quote samples, so servers do not show them. */
export class Thrown {
  readonly #texts = new Map<string, number>()

  /** A listener of failed calls. */
  readonly note = (event: FunctionFailed): void => {
    if (event.error === null) return
    const text = `${event.name} threw in ${event.op}:\n${plain(event.error)}`
    const known = this.#texts.get(text)
    if (known !== undefined || this.#texts.size < mostShown) this.#texts.set(text, (known ?? 0) + 1)
  }

  /** The first distinct errors with their counts; '' if there were none. */
  text(): string {
    return [...this.#texts].map(([text, count]) => `${count} x ${text}\n`).join('')
  }
}

/** The first and last lines, without control characters. */
function plain(error: string): string {
  const lines = error.trimEnd().split('\n')
  const left = lines.length - firstLines - lastLines
  const shown =
    left <= 1 ? lines : [...lines.slice(0, firstLines), `(${left} lines)`, ...lines.slice(-lastLines)]
  return shown.map((line) => `    ${line.slice(0, 500).replace(/\p{Cc}/gu, '\ufffd')}`).join('\n')
}
