#!/usr/bin/env node
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { GatewayError } from '../core/errors.ts'
import { didYouMean } from '../core/nearest-name.ts'
import { packageVersion } from '../core/package-version.ts'
import { fileTrouble, pathOf, reasonOf } from '../core/system-error.ts'
import { type Command, helpOf, type Io } from './command.ts'
import { misused } from './options.ts'

/**
 * All commands, grouped by what they work on. To add a command, add a file in one of the folders and a line here. A
 * command's file is loaded only if it runs.
 */
const groups: Readonly<Record<string, Readonly<Record<string, () => Promise<Command>>>>> = {
  Servers: {
    serve: async () => (await import('./serve/serve.ts')).command,
    sandbox: async () => (await import('./serve/sandbox.ts')).command,
    simulate: async () => (await import('./serve/simulate.ts')).command,
    demo: async () => (await import('./serve/demo.ts')).command,
  },
  Rewards: {
    init: async () => (await import('./rewards/init.ts')).command,
    check: async () => (await import('./rewards/check.ts')).command,
    score: async () => (await import('./rewards/score.ts')).command,
    audit: async () => (await import('./rewards/audit.ts')).command,
    explain: async () => (await import('./rewards/explain.ts')).command,
    import: async () => (await import('./rewards/import.ts')).command,
  },
  'Training runs': {
    submit: async () => (await import('./runs/submit.ts')).command,
    rewards: async () => (await import('./runs/rewards.ts')).command,
  },
  'Data sets': {
    prepare: async () => (await import('./data/prepare.ts')).command,
    'prepare subset': async () => (await import('./data/prepare-subset.ts')).command,
    evaluate: async () => (await import('./data/evaluate.ts')).command,
  },
  Results: {
    analyze: async () => (await import('./results/analyze.ts')).command,
    report: async () => (await import('./results/report.ts')).command,
    diff: async () => (await import('./results/diff.ts')).command,
    compare: async () => (await import('./results/compare.ts')).command,
    export: async () => (await import('./results/export.ts')).command,
    calibrate: async () => (await import('./results/calibrate.ts')).command,
  },
  Shell: {
    completion: async () => (await import('./completion.ts')).completionOf(commands),
  },
}

const commands: ReadonlyMap<string, () => Promise<Command>> = new Map(
  Object.values(groups).flatMap((group) => Object.entries(group)),
)

/** If set to any value, errors include a stack trace. */
const stackVariable = 'REWARD_GATEWAY_STACK'

/**
 * `reward-gateway COMMAND ...`. The exit code is 0 for success, 1 if the command found a problem or was stopped by a
 * signal, and 2 if it could not run.
 */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  let command: Command | null = null
  try {
    const shown = await help(argv)
    if (shown !== null) {
      io.stdout.write(`${shown}\n`)
      return 0
    }
    const found = await commandOf(argv)
    command = found.command
    return await command.run(found.rest, io)
  } catch (error) {
    const isStopped = io.signal.aborted && isAbort(error, io.signal)
    if (isStopped) io.stderr.write('stopped\n')
    else tell(io, error, wantsStack(argv, io))
    if (io.signal.aborted) return 1
    return error instanceof GatewayError && command?.finds?.includes(error.code) ? 1 : 2
  }
}

/** Whether an error says only that the command was asked to end. */
const isAbort = (error: unknown, { reason }: AbortSignal): boolean =>
  error === reason || (error instanceof Error && error.name === 'AbortError')

/** The help or the version, if the arguments ask for one of them. */
async function help(argv: readonly string[]): Promise<string | null> {
  const [name = 'help', ...rest] = argv
  if (name === '--version' || name === '-v') return packageVersion
  if (name === '--help' || name === '-h') return overview()
  if (name === 'help')
    return rest[0] === undefined || rest[0] === 'help' ? overview() : helpOf((await commandOf(rest)).command)
  const end = rest.indexOf('--')
  const options = end < 0 ? rest : rest.slice(0, end)
  return options.includes('--help') || options.includes('-h') ? helpOf((await commandOf(argv)).command) : null
}

/** The command named by the first words, and the arguments after them. */
async function commandOf([first = '', ...rest]: readonly string[]): Promise<{
  readonly command: Command
  readonly rest: readonly string[]
}> {
  const nested = commands.get(`${first} ${rest[0]}`)
  if (nested) return { command: await nested(), rest: rest.slice(1) }
  const load = commands.get(first)
  if (load) return { command: await load(), rest }
  throw misused(
    `there is no command '${first}'${didYouMean(first, commands.keys()) || '; see reward-gateway help'}`,
  )
}

async function overview(): Promise<string> {
  const lines = ['reward-gateway: serves rewards from rules and reward models to RL trainers']
  for (const [title, group] of Object.entries(groups)) {
    lines.push('', `${title}:`)
    for (const [name, load] of Object.entries(group))
      lines.push(`  ${name.padEnd(14)}  ${(await load()).summary}`)
  }
  lines.push('', 'reward-gateway COMMAND --help explains a command; --version prints the version.')
  return lines.join('\n')
}

const wantsStack = (argv: readonly string[], io: Io): boolean =>
  Boolean(io.env[stackVariable]) || /--log-level(?:=| )(?:debug|trace)\b/.test(argv.join(' '))

/** Writes an error for people: what happened, where, and what to do. `stack` adds the stack trace. */
function tell(io: Io, error: unknown, stack: boolean): void {
  const { code, message, problems } = asGatewayError(error)
  io.stderr.write(`${code}: ${message}\n`)
  for (const problem of problems) {
    const line = `${problem.path}: ${problem.message}`
    if (line !== message) io.stderr.write(`  ${line}\n`)
  }
  if (stack) io.stderr.write(`${stackOf(error)}\n`)
}

function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  const trouble = fileTrouble(error)
  if (trouble !== null) {
    const path = pathOf(error)
    return new GatewayError('RG_INPUT_INVALID', path === '' ? trouble : `${path}: ${trouble}`)
  }
  return new GatewayError(
    'RG_INTERNAL',
    `${reasonOf(error)}; this is a bug in the gateway: please report it with the output of ${stackVariable}=1`,
  )
}

/** The stacks of an error and of its causes. */
function stackOf(error: unknown): string {
  const stacks: string[] = []
  for (let one = error; one instanceof Error && stacks.length < 5; one = one.cause)
    stacks.push(one.stack ?? one.message)
  return stacks.length > 0 ? stacks.join('\ncaused by ') : String(error)
}

// npm links the command, so compare the real path of the started file.
if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort(name))
  const { stdin, stdout, stderr, env } = process
  // `reward-gateway ... | head` closes the output early; this is not an error.
  stderr.on('error', () => {})
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  process.exitCode = await main(process.argv.slice(2), {
    stdin,
    stdout,
    stderr,
    env,
    signal: controller.signal,
    onHangup(listener) {
      process.on('SIGHUP', listener)
      return () => void process.off('SIGHUP', listener)
    },
  })
}
