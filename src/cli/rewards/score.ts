import { systemClock } from '../../core/clock.ts'
import type { FunctionEvent } from '../../scoring/functions/function-host.ts'
import { openObservedGateway } from '../../serving/observed-gateway.ts'
import { keeps } from '../../workbench/dataset/scored-file.ts'
import { finiteNumber, flag, misused, oneOf, parsed, text, textOr, wholeNumber } from '../arguments.ts'
import type { Command } from '../command.ts'
import { configsOf, functionOptions, rewardOf } from '../gateway.ts'
import { tellWaiting } from '../parked-news.ts'
import { scoreFile } from './score-file.ts'

const usage = `reward-gateway score (--config FILE [--reward NAME] | --function NAME [--options JSON])
                     --input FILE --output FILE [--resume | --failed-only] [--keep none|facts|all]
                     [--reward-functions DIR] [--batch N] [--allow-invalid SHARE]

Scores a file without a server: one result a row, in the order of the input, in the shape of /v1/score's results.
Files are JSON lines (.jsonl, .gz) or Parquet (.parquet); '-' is standard input or output. Rows are samples as /v1/score
takes them, verl's data sets with 'response' or 'responses', or verl's dumps of generations.
With --function the only step is called like the function and 'reward' is its score.

--resume       goes on with OUTPUT.partial.jsonl, which a stopped or killed run left
--failed-only  scores the rows of OUTPUT again that have no reward, with their groups
--keep facts   puts data_source, group_id and response_length beside each result, as 'sample'; all: the whole sample
--batch N      rows that are scored together (512); a group is not cut
--allow-invalid SHARE  the share of rows, 0 to 1, that may be without a reward (0)

The exit code is 0 where the rows have rewards, 1 where more than --allow-invalid have none (the output is written; it says
why) or the run was asked to end, 2 where it could not be done.`

/** Exit code 1 where rows have no reward, or it was asked to end. */
export const command: Command = {
  summary: 'scores a file of samples without a server',
  usage,
  async run(argv, io) {
    const { values } = parsed(argv, {
      config: text,
      reward: text,
      ...functionOptions,
      input: text,
      output: text,
      batch: textOr('512'),
      resume: flag,
      'failed-only': flag,
      keep: textOr('none'),
      'allow-invalid': textOr('0'),
    })
    const { input, output } = values
    if (!input || !output || Boolean(values.config) === Boolean(values.function)) {
      throw misused('--input, --output and one of --config and --function are needed.', usage)
    }
    const keep = oneOf('keep', values.keep, keeps)
    const allowInvalid = finiteNumber('allow-invalid', values['allow-invalid'], [0, 1])
    const batch = wholeNumber('batch', values.batch, 1, 100_000)
    let calls = 0
    const thrown = new Thrown()
    const news = tellWaiting(io, systemClock)
    const gateway = await openObservedGateway({
      ...configsOf(values),
      functionFolders: values['reward-functions'],
      env: io.env,
      events: {
        models: { parked: news.parked },
        functions: thrown.note,
        engine: {
          drawn({ answered }) {
            if (answered?.source === 'call') calls++
          },
        },
      },
    })
    try {
      const reward = rewardOf(gateway, values.function ?? values.reward)
      const { resume, 'failed-only': failedOnly } = values
      return await scoreFile(
        { gateway, reward, input, output, batch, keep, resume, failedOnly, allowInvalid, calls: () => calls },
        io,
      )
    } finally {
      news.end()
      await gateway.close(0)
      io.stderr.write(thrown.text())
    }
  },
}

const mostShown = 3
/** Lines of an error that are shown: JavaScript's begin with the message, Python's end with it. */
const firstLines = 4
const lastLines = 8

/** What an author's functions threw, for the author's terminal: it may quote samples, so no server shows it. */
export class Thrown {
  readonly #texts = new Map<string, number>()

  /** A listener of function events. */
  readonly note = (event: FunctionEvent): void => {
    if (event.type !== 'failed' || event.error === null) return
    const text = `${event.name} threw in ${event.op}:\n${plain(event.error)}`
    const known = this.#texts.get(text)
    if (known !== undefined || this.#texts.size < mostShown) this.#texts.set(text, (known ?? 0) + 1)
  }

  /** The first different errors, each with how often it came; '' where nothing was thrown. */
  text(): string {
    return [...this.#texts].map(([text, count]) => `${count} x ${text}\n`).join('')
  }
}

/** The first and the last lines, without what a terminal would obey. */
function plain(error: string): string {
  const lines = error.trimEnd().split('\n')
  const left = lines.length - firstLines - lastLines
  const shown =
    left <= 1 ? lines : [...lines.slice(0, firstLines), `(${left} lines)`, ...lines.slice(-lastLines)]
  return shown.map((line) => `    ${line.slice(0, 500).replace(/\p{Cc}/gu, '\ufffd')}`).join('\n')
}
