import { readdir } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { GatewayError } from '../../core/errors.ts'
import { hideSecrets } from '../../core/secrets.ts'
import { reasonOf } from '../../core/system-error.ts'
import { rounded } from '../../scoring/plan/explain.ts'
import { arithmetics } from '../../scoring/plan/fold.ts'
import type { RecordedPart, RecordedTurn } from '../../serving/telemetry/record/rollout.ts'
import type { RecordedAsk, RecordedRow, RecordedTerm } from '../../serving/telemetry/record/row.ts'
import { findRecords } from '../../serving/telemetry/record/segments.ts'
import { defineCommand, type Io } from '../command.ts'
import { file, misused } from '../options.ts'

/** Exit code 0. If a request has several matching rows, lists them. */
export const command = defineCommand({
  name: 'explain',
  summary: 'shows why a recorded sample got its reward',
  synopsis: ['RECORD-ID (--records DIR | --config PATH)'],
  about: `Shows step by step why a row got its reward. RECORD-ID is the x-request-id of the answer, a colon and the index of the row
from 0. Without colon and index, the recorded rows of the request are listed.`,
  example: 'r-17:3 --config configs',
  options: {
    records: file('DIR', 'the folder of the records', { suggests: 'folders' }),
    config: file('PATH', "a config whose 'record:' names that folder"),
  },
  positionals: [],
  async run({ values, positionals }, io) {
    const [id] = positionals
    if (id === undefined || positionals.length > 1) throw misused('one record id is needed', 'explain')
    const folder = values.records ?? (await configured(values.config, io))
    const look = () =>
      readdir(folder)
        .then(() => findRecords(folder, id))
        .catch((cause: NodeJS.ErrnoException) => {
          // The gateway makes the folder with its first record, a moment after the first reply.
          if (cause.code === 'ENOENT' && values.records === undefined) return []
          throw new GatewayError('RG_INPUT_INVALID', `${folder}: ${reasonOf(cause)}`, { cause })
        })
    let rows = await look()
    // A gateway writes its record once a second.
    for (let again = 0; rows.length === 0 && again < 2; again += 1) {
      await setTimeout(1000, undefined, { signal: io.signal })
      rows = await look()
    }
    const [row] = rows
    if (!row) {
      throw new GatewayError(
        'RG_INPUT_INVALID',
        `${folder} has no record '${id}': no request had this id, or the row was not sampled, was dropped or was deleted`,
      )
    }
    if (rows.length === 1 && row.id === id) io.stdout.write(`${hideSecrets(explainRecord(row).join('\n'))}\n`)
    else for (const one of rows) io.stdout.write(`${hideSecrets(listed(one))}\n`)
    return 0
  },
})

/** A row of a request in one line: the reward and each term's score, or why there is none. */
function listed({ id, sample, reward, failure, terms }: RecordedRow): string {
  const scores = terms.map(
    ({ name, score, why, failure }) =>
      `${name} ${shown(score) ?? failure?.kind ?? (why === null ? 'off' : `off: ${why}`)}`,
  )
  return `${id}  sample ${quoted(sample.id)}: ${shown(reward) ?? failure?.kind} (${scores.join(', ')})`
}

async function configured(config: string | undefined, io: Io): Promise<string> {
  const { configTexts, readConfigs } = await import('../../scoring/plan/configs.ts')
  const folder = config && readConfigs(configTexts([config]), io.env).gateway.record?.folder
  if (folder) return folder
  if (config) throw misused(`${config} has no 'record:'; give --records DIR`)
  throw misused('--records DIR or --config PATH is needed', 'explain')
}

/** Explains a row's reward, one sentence a line. Quotes texts of models as JSON, so that they cannot control a terminal. */
function explainRecord(row: RecordedRow): string[] {
  const { config, sample, failure } = row
  const { arithmetic } = config
  const when = row.training_step === null ? '' : `, training step ${row.training_step}`
  const run = row.run === '' ? '' : `, run ${quoted(row.run)}`
  const group = sample.group === null ? '' : `, group ${quoted(sample.group)}`
  return [
    `${row.id}: sample ${quoted(sample.id)}${group}, scored ${row.time} in ${row.ms} ms`,
    `reward ${config.reward}, version ${config.version}${run}${when}`,
    `  prompt ${kept(sample.prompt)}`,
    ...rolloutOf(sample),
    `  response ${kept(sample.response)}`,
    `  ground truth ${kept(sample.ground_truth)}`,
    ...(config.gate === null ? [] : [`  gate: ${config.gate}`]),
    ...(arithmetic === 'published' ? ['  float32, and a closed gate counts as score 0'] : []),
    ...folded(row),
    ...(row.flags.length > 0 ? [`flags: ${row.flags.map(quoted).join(', ')}`] : []),
    failure
      ? `No reward: ${failure.kind}${failure.step ? ` in ${failure.step}` : ''}: ${failure.detail}.${substitute(row)}`
      : `reward = ${shown(row.reward)}`,
  ]
}

/** The turns of a rollout, a line for each thing said, and what the trainer knew of it. */
function rolloutOf(sample: RecordedRow['sample']): string[] {
  const {
    status,
    tokens,
    policy_version: version,
    environment,
    counts,
    turns = [],
    segments = [],
    turns_left_out,
  } = sample
  const facts = [
    ...(status === undefined ? [] : [`status ${status}`]),
    ...(tokens ? [`${tokens.prompt ?? '?'} + ${tokens.response ?? '?'} tokens`] : []),
    ...(version
      ? [`policy version ${[...new Set([version.first, version.last])].map(quoted).join(' to ')}`]
      : []),
    ...Object.entries(environment ?? {}).map(
      ([name, value]) => `environment ${quoted(name)} ${shown(value)}`,
    ),
  ]
  const malformed = counts?.malformed_calls ? `, ${counts.malformed_calls} malformed` : ''
  return [
    ...(facts.length > 0 ? [`  ${facts.join(', ')}`] : []),
    ...(counts
      ? [`  rollout of ${many(counts.turns, 'turn')}, ${many(counts.tool_calls, 'call')}${malformed}`]
      : []),
    ...turns.flatMap((turn, at) => [
      ...segments.flatMap((start, index) => (start === at ? [`    segment ${index}:`] : [])),
      ...turnLines(turn).map((line) => `    ${at}. ${line}`),
    ]),
    ...(turns_left_out === undefined ? [] : [`    ${many(turns_left_out, 'more turn')}: not kept`]),
  ]
}

function turnLines(turn: RecordedTurn): string[] {
  const { role, content, reasoning, tool_calls: calls = [], name, left_out: left } = turn
  const parts = Array.isArray(content) ? content.map(partText) : content === '' ? [] : [kept(content)]
  const who = name === undefined ? quoted(role).slice(1, -1) : `${quoted(role).slice(1, -1)} ${kept(name)}`
  const lines = [
    ...(reasoning === undefined ? [] : [`${who} thinks ${kept(reasoning)}`]),
    ...parts.map((text) => `${who} ${text}`),
    ...calls.map(
      (call) =>
        `${who} calls ${kept(call.name)} with ${kept(call.arguments)}${call.malformed ? ' (malformed)' : ''}`,
    ),
    ...(left === undefined ? [] : [`${who}: ${many(left, 'more part')} or calls: not kept`]),
  ]
  return lines.length > 0 ? lines : [`${who} ""`]
}

function partText(part: RecordedPart): string {
  if (part.type === 'text') return kept(part.text)
  if (part.type === 'refusal') return `refuses ${kept(part.text)}`
  if (part.type === 'other') return `${quoted(part.name)} ${kept(part.value)}`
  const type = part.media_type === null ? 'image' : `image ${quoted(part.media_type).slice(1, -1)}`
  return `${type}, ${part.size} bytes${part.sha256 === null ? '' : `, SHA-256 ${part.sha256.slice(0, 16)}…`}`
}

const many = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

const substitute = ({ substitute }: RecordedRow): string =>
  substitute === null ? '' : ` Trainers without an invalid state get ${substitute}.`

/** Each term and the reward after it. */
function folded({ terms, config }: RecordedRow): string[] {
  const { started, combined } = arithmetics[config.arithmetic]
  let value: number | null = null
  const lines = terms.flatMap((term, at) => {
    const lead = `${at + 1}. ${term.name}: `
    const score = config.arithmetic === 'published' && term.why === 'gate' ? 0 : term.score
    const before: number | null = value
    if (score !== null) {
      value = before === null ? started(term.weight, score) : combined[term.op](before, term.weight, score)
    }
    const sum = config.formula === null && score !== null ? arithmeticOf(term, score, before, value) : ''
    return [lead + verdictOf(term, config.gate) + sum, ...madeOf(term)]
  })
  return config.formula === null ? lines : [...lines, `formula: ${config.formula}`]
}

function verdictOf(term: RecordedTerm, gate: string | null): string {
  const { status, failure } = term
  if (status === 'text') return 'a text for later steps, without a score'
  if (status === 'failed') return `failed: ${failure?.kind}: ${failure?.detail}`
  if (status === 'scored') return `score ${shown(term.score)}`
  return `off: ${term.why === 'gate' ? `the gate '${gate}' does not hold` : reasons[term.why ?? '']}`
}

const reasons: Readonly<Record<string, string>> = {
  when: "its 'when' does not hold",
  data_source: 'it is for other data sources',
  not_applicable: 'the function says that it does not apply',
  skipped: 'the reply has no verdict, and the config says to skip',
}

function arithmeticOf(
  { op, weight }: RecordedTerm,
  score: number,
  before: number | null,
  after: number | null,
): string {
  const sum = `${shown(weight)} x ${shown(score)} = ${shown(after)}`
  if (before === null) return `; begins with ${sum}`
  return `; ${shown(before)} ${op === 'add' ? '+' : 'x'} ${sum}`
}

/** The record keeps the noise of binary fractions. */
const shown = (value: number | null): string | null => (value === null ? null : rounded(value))

const mostShownSteps = 20

function madeOf(term: RecordedTerm): string[] {
  const { parts, details, flags, draws, spread, asks, failure, steps = [] } = term
  const more = steps.length > mostShownSteps ? ', …' : ''
  const values = steps.slice(0, mostShownSteps).map(({ value }) => shown(value))
  const named = (values: Readonly<Record<string, unknown>>) =>
    Object.entries(values).map(
      ([name, value]) => `${name} ${typeof value === 'number' ? shown(value) : kept(value)}`,
    )
  return [
    ...(Object.keys(parts).length > 0 ? [`   parts: ${named(parts).join(', ')}`] : []),
    ...(Object.keys(details).length > 0 ? [`   details: ${named(details).join(', ')}`] : []),
    ...(flags.length > 0 ? [`   flags: ${flags.map(quoted).join(', ')}`] : []),
    ...(steps.length > 0 ? [`   ${many(steps.length, 'step')}: ${values.join(', ')}${more}`] : []),
    ...asks.map((ask) => `   ${askOf(ask)}`),
    ...(draws > 1 ? [`   ${draws} draws, standard deviation ${shown(spread)}`] : []),
    ...(failure?.attempts ?? []).map(({ instance, ms, error }) => `   tried ${instance}, ${ms} ms: ${error}`),
  ]
}

function askOf(ask: RecordedAsk): string {
  const { model, draw, instance, source, attempts, ms, tokens, template, sampling, seed, verdict, failure } =
    ask
  const { seed: _seed, ...settings } = sampling
  const how = [
    ...Object.entries(settings).map(([name, value]) => `${name} ${JSON.stringify(value)}`),
    ...(seed === null ? [] : [`seed ${seed}`]),
    ...(template === '' ? [] : [`template ${template.slice(0, 12)}`]),
  ]
  const cost = tokens ? `, ${tokens.prompt} + ${tokens.completion} tokens` : ''
  const where = instance
    ? ` at ${instance} (${source}, ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}, ${ms} ms${cost})`
    : ` for ${ms} ms`
  const answer = failure && !instance ? '' : `; answer ${kept(ask.answer)}`
  const end = failure
    ? `${failure.kind}: ${failure.detail}`
    : verdict === null
      ? 'no verdict'
      : `verdict ${shown(verdict)}`
  return `draw ${draw} of ${model}${where}${how.length > 0 ? `; ${how.join(', ')}` : ''}${answer}: ${end}`
}

/** The part of a text or value that the record kept. */
function kept(value: unknown): string {
  if (value === null || value === undefined) return 'not kept'
  if (typeof value === 'object' && 'sha256' in value && 'chars' in value)
    return `SHA-256 ${String(value.sha256).slice(0, 16)}…, ${value.chars} characters`
  return quoted(value)
}

/** JSON, with every control and formatting character escaped. */
const quoted = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  )
