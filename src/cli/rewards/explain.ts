import { readdir } from 'node:fs/promises'
import { GatewayError } from '../../core/errors.ts'
import { hideSecrets } from '../../core/secrets.ts'
import { reasonOf } from '../../core/system-error.ts'
import { configTexts } from '../../scoring/plan/config-files.ts'
import { readConfigs } from '../../scoring/plan/configs.ts'
import { findRecords } from '../../serving/telemetry/record/read-records.ts'
import { misused, parsed, text } from '../arguments.ts'
import type { Command, Io } from '../command.ts'
import { explainRecord } from './explain-record.ts'

const usage = `reward-gateway explain RECORD-ID (--records DIR | --config PATH)

Shows step by step why a row got its reward. RECORD-ID is the answer's x-request-id, a colon and the row's index from 0;
without colon and index the recorded rows of the request are listed. --config names a config with 'record:'.`

/** Exit code 0; several rows of one request are listed. */
export const command: Command = {
  summary: 'shows why a recorded sample got its reward',
  usage,
  async run(argv, io) {
    const { values, positionals } = parsed(argv, { records: text, config: text }, 'files')
    const [id] = positionals
    if (id === undefined || positionals.length > 1) throw misused('one record id is needed.', usage)
    const folder = values.records ?? configured(values.config, io)
    const rows = await readdir(folder)
      .then(() => findRecords(folder, id))
      .catch((cause) => {
        throw new GatewayError('RG_INPUT_INVALID', `${folder}: ${reasonOf(cause)}`, { cause })
      })
    const [row] = rows
    if (!row) {
      throw new GatewayError(
        'RG_INPUT_INVALID',
        `${folder} holds no record '${id}': it was not sampled, was dropped, has been deleted, or is not written yet`,
      )
    }
    if (rows.length === 1 && row.id === id) io.stdout.write(`${hideSecrets(explainRecord(row).join('\n'))}\n`)
    else for (const one of rows) io.stdout.write(`${one.id}  ${one.reward ?? one.failure?.kind}\n`)
    return 0
  },
}

function configured(config: string | undefined, io: Io): string {
  const folder = config && readConfigs(configTexts([config]), io.env).gateway.record?.folder
  if (folder) return folder
  if (config) throw misused(`${config} has no 'record:'; give --records DIR`)
  throw misused('--records DIR or --config PATH is needed', usage)
}
