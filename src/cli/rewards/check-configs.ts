import { systemClock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Sample } from '../../core/sample/sample.ts'
import { hideSecrets } from '../../core/secrets.ts'
import type { FunctionHost } from '../../scoring/functions/function-host.ts'
import { openFunctions } from '../../scoring/functions/open-functions.ts'
import { configTexts, readConfigs } from '../../scoring/plan/configs.ts'
import { explainModel, explainPlan } from '../../scoring/plan/explain.ts'
import type { GatewaySettings } from '../../scoring/plan/gateway-config.ts'
import type { Plan, PlanStep } from '../../scoring/plan/plan.ts'
import { type Resolved, resolvePlans } from '../../scoring/plan/resolve.ts'
import { Sandboxes } from '../../scoring/sandboxes/sandboxes.ts'
import type { TrainerSettings } from '../../trainers/format.ts'
import { openGroundTruthIndexes } from '../../trainers/ground-truth-index.ts'
import type { knownTrainers } from '../../trainers/sent.ts'
import { eachRow } from '../../workbench/dataset/row.ts'
import { openRows } from '../../workbench/dataset/rows.ts'
import { samplesOf } from '../../workbench/dataset/samples.ts'
import { askJudges, type GivenRows, isUnasked } from '../../workbench/preflight/ask-judges.ts'
import { type Connection, connectAll } from '../../workbench/preflight/connect.ts'
import { connectSandboxes } from '../../workbench/preflight/connect-sandboxes.ts'
import { refusesMessages, traceMarker, wireFaults } from '../../workbench/preflight/questions.ts'
import { trainerWarnings } from '../../workbench/preflight/trainer-checks.ts'
import type { Io } from '../command.ts'
import { checkData, type DataSettings } from './check-data.ts'
import { fixConfigs } from './fix-configs.ts'

interface CheckSettings extends DataSettings {
  readonly 'reward-functions': readonly string[]
  readonly input: string | undefined
  readonly trainer: readonly (typeof knownTrainers)[number][]
  readonly connect: boolean
  readonly fix: boolean
}

/** Explains the configs, or checks data against them. Exit code 1 if a server or the data has an error. */
export async function checkConfigs(paths: readonly string[], values: CheckSettings, io: Io): Promise<number> {
  const given: GivenRows =
    values.input === undefined
      ? { samples: [plainSample, rubricSample], isPlain: true }
      : { samples: await firstSamples(values.input, io), isPlain: false }
  const read = configTexts(paths)
  const written = readConfigs(read, io.env)
  const { folders, timeout_s, memory_mb, python } = written.gateway.functions
  const functions = await openFunctions({
    folders: [...folders, ...values['reward-functions']],
    sampleTimeoutMs: timeout_s * 1000,
    memoryMb: memory_mb,
    python: { command: python.command, processes: 1, memoryMb: python.memory_mb },
  })
  try {
    const configs = values.fix ? readConfigs(await fixConfigs(read, paths, functions, io), io.env) : written
    const resolved = await resolvePlans(configs, functions)
    await openGroundTruthIndexes(configs.gateway.trainers)
    if (values.data.length > 0) return await checkData(resolved, functions, values, io)
    const trainers = values.trainer
    await explain(resolved, given, trainers, functions, io)
    return values.connect ? await connect(resolved, functions, given, io) : 0
  } finally {
    await functions.close()
  }
}

async function explain(
  { plans, models, gateway }: Resolved,
  { samples, isPlain }: GivenRows,
  trainers: CheckSettings['trainer'],
  functions: FunctionHost,
  io: Io,
): Promise<void> {
  const warnings: string[] = []
  for (const plan of plans.values()) {
    io.stdout.write(`${hideSecrets(explainPlan(plan).join('\n'))}\n\n`)
    for (const { name, function: bound } of plan.steps)
      if (bound.warning !== undefined)
        warnings.push(`${plan.name}, step ${name} (${bound.name}): ${bound.warning}`)
    for (const step of plan.steps)
      if (step.ask !== null)
        warnings.push(...(await warningsOf(plan, step, { samples, isPlain }, functions, models)))
    for (const name of trainers) {
      const { [name]: settings }: Partial<Record<string, TrainerSettings>> = gateway.trainers
      warnings.push(...(await trainerWarnings(plan, { name, settings }, isPlain ? [] : samples, functions)))
    }
  }
  for (const [name, config] of models) io.stdout.write(`${hideSecrets(explainModel(name, config))}\n`)
  await explainSandboxes(gateway, io)
  for (const warning of warnings) io.stdout.write(`warning: ${warning}\n`)
  const many = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
  const inOrder = `the configs of ${many(plans.size, 'reward')} and ${many(models.size, 'model')} are in order`
  const but = warnings.length === 0 ? '' : `, with ${many(warnings.length, 'warning')}`
  io.stdout.write(`${inOrder}${but}\n`)
}

async function explainSandboxes(gateway: GatewaySettings, io: Io): Promise<void> {
  const sandboxes = new Sandboxes(gateway.sandboxes, { clock: systemClock, env: io.env, events: {} })
  try {
    for (const [name, { text, isConfined }] of await sandboxes.open())
      io.stdout.write(`${isConfined ? '' : 'warning: '}sandbox ${name}: ${text}\n`)
  } finally {
    sandboxes.close()
  }
}

/** Exit code 1 if a server cannot be used. */
async function connect(
  resolved: Resolved,
  functions: FunctionHost,
  given: GivenRows,
  io: Io,
): Promise<number> {
  const { models, gateway } = resolved
  const [found, places] = await Promise.all([
    connectAll(models, io.env, systemClock),
    connectSandboxes(gateway.sandboxes, io.env, systemClock),
  ])
  for (const { model, address, trouble, ms } of found)
    io.stdout.write(
      trouble === null
        ? `${model} at ${address}: responds (${ms} ms)\n`
        : `error: ${model} at ${address}: ${trouble}\n`,
    )
  const lost = found.filter(({ trouble }) => trouble !== null).length
  io.stdout.write(
    found.length === 0
      ? places.length > 0
        ? ''
        : 'no model names a server\n'
      : `${found.length - lost} of ${found.length} model servers respond\n`,
  )
  const unanswered = await ask(resolved, functions, found, given, io)
  for (const { sandbox, address, trouble, found: how, ms } of places)
    io.stdout.write(
      trouble === null
        ? `sandbox ${sandbox} at ${address}: responds (${ms} ms): ${how}\n`
        : `error: sandbox ${sandbox} at ${address}: ${trouble}\n`,
    )
  const gone = places.filter(({ trouble }) => trouble !== null).length
  if (places.length > 0)
    io.stdout.write(`${places.length - gone} of ${places.length} sandbox servers respond\n`)
  return lost + gone + unanswered > 0 ? 1 : 0
}

/** Asks the judges that respond one question for each step. Returns how many questions got no verdict or were not asked. */
async function ask(
  resolved: Resolved,
  functions: FunctionHost,
  found: readonly Connection[],
  given: GivenRows,
  io: Io,
): Promise<number> {
  const { asked, unasked } = await askJudges(
    resolved,
    functions,
    found,
    given,
    io.env,
    systemClock,
    io.signal,
  )
  let [speechless, silent] = [0, 0]
  for (const { model, address, plan, step, said, ms } of asked) {
    const where = `${model} at ${address}: `
    const whose = `the question of ${plan}, step ${step}`
    if (said.status === 'verdict') io.stdout.write(`${where}answers ${whose} with ${said.value} (${ms} ms)\n`)
    else if (isUnasked(said)) {
      silent += 1
      io.stdout.write(
        `error: ${where}not asked ${whose} (${said.status === 'failed' ? said.failure.detail : 'there is none'})\n`,
      )
    } else {
      speechless += 1
      const why = said.status === 'failed' ? said.failure.detail : 'its answer holds no verdict'
      io.stdout.write(`error: ${where}no verdict on ${whose}: ${hideSecrets(why)}\n`)
    }
  }
  for (const { model, why } of unasked) io.stdout.write(`${model}: ${why}\n`)
  if (silent > 0)
    io.stdout.write(
      given.isPlain
        ? `${silent} of ${asked.length} questions were not asked, because the example of this command has none for these steps; add --input ROWS with a row that they score\n`
        : `${silent} of ${asked.length} questions were not asked: none of the first ${given.samples.length} rows of --input has one for these steps\n`,
    )
  return speechless + silent
}

async function warningsOf(
  { name }: Plan,
  step: PlanStep,
  { samples, isPlain }: GivenRows,
  functions: FunctionHost,
  models: Resolved['models'],
): Promise<readonly string[]> {
  let [sample] = samples
  const first = await traceMarker(step, sample, functions)
  let found = first
  for (const other of samples.slice(1)) {
    if (found.status !== 'no_question') break
    sample = other
    found = await traceMarker(step, other, functions)
  }
  if (found.status === 'no_question') found = first
  const where = `${name}, step ${step.name} (${step.function.name})`
  const faults = 'question' in found && found.question ? wireFaults(step, found.question, models) : []
  if (faults.length > 0) return faults.map((fault) => `${where}: ${fault}`)
  switch (found.status) {
    case 'unguarded':
      return [
        `${where}: the prompt holds the response outside a guarded value, so it can instruct the judge; use prompt\`...\``,
      ]
    case 'absent':
      return [`${where}: the question does not hold the response`]
    case 'no_question':
      return [
        isPlain
          ? `${where}: not checked for an unguarded response (${found.why}); give matching rows with --input`
          : `${where}: not checked for an unguarded response, because none of the first ${samples.length} rows of --input has a question for it (${found.why})`,
      ]
    case 'guarded': {
      const isExample = sample === plainSample || sample === rubricSample
      const why = isExample ? await refusesMessages(step, sample, functions) : null
      return why === null
        ? []
        : [`${where}: fails if the prompt is a list of messages (${why}); use lastUserText(sample)`]
    }
  }
}

const plainSample: Sample = {
  id: 'check',
  prompt: 'What is 2 + 2?',
  response: 'It is 4.',
  groundTruth: null,
  rmPrompt: 'Is this right? {response}',
  rmPrompts: {},
  extraInfo: {},
}

const rubricSample: Sample = { ...plainSample, groundTruth: [{ text: 'States that 2 + 2 is 4.' }] }

/** Enough to find a row for each step, in files that hold rows of several kinds. */
const mostRows = 20

async function firstSamples(file: string, io: Io): Promise<GivenRows['samples']> {
  const samples: Sample[] = []
  for await (const raw of eachRow(await openRows(file, io.stdin))) {
    const [read] = samplesOf(raw, samples.length, [])
    if (!read || 'failure' in read)
      throw new GatewayError(
        'RG_INPUT_INVALID',
        `${file}: row ${samples.length + 1} is not a sample: ${read?.failure.detail}`,
      )
    samples.push(read)
    if (samples.length === mostRows) break
  }
  const [first, ...others] = samples
  if (!first) throw new GatewayError('RG_INPUT_INVALID', `${file}: contains no rows`)
  return [first, ...others]
}
