#!/usr/bin/env node
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { GatewayError } from '../core/errors.ts'
import { didYouMean } from '../core/nearest-name.ts'
import { packageVersion } from '../core/package-version.ts'
import type { Command, Io } from './command.ts'
import { stackVariable, tell } from './command.ts'

/** Commands load when they are asked for: `serve` need not pay for plots, nor `score` for a server. */
const commands: Readonly<Record<string, () => Promise<{ readonly command: Command }>>> = {
  serve: () => import('./serve/serve.ts'),
  score: () => import('./rewards/score.ts'),
  check: () => import('./rewards/check.ts'),
  prepare: () => import('./data/prepare.ts'),
  analyze: () => import('./results/analyze.ts'),
  report: () => import('./results/report.ts'),
  diff: () => import('./results/diff.ts'),
  evaluate: () => import('./data/evaluate.ts'),
  compare: () => import('./results/compare.ts'),
  calibrate: () => import('./results/calibrate.ts'),
  audit: () => import('./rewards/audit.ts'),
  explain: () => import('./rewards/explain.ts'),
  simulate: () => import('./serve/simulate.ts'),
  demo: () => import('./serve/demo.ts'),
  import: () => import('./rewards/import.ts'),
}

/**
 * `reward-gateway COMMAND ...`; the exit code is 0, 1 where the command has done its work and the answer is no (or it was
 * asked to end), 2 where it could not be done.
 */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  let command: Command | null = null
  try {
    const [name = 'help', ...rest] = argv
    const done = await shown(name, rest, io)
    if (done) return 0
    command = await commandOf(name)
    return await command.run(rest, io)
  } catch (error) {
    tell(io, error, wantsStack(argv, io))
    return error instanceof GatewayError && command?.finds?.includes(error.code) ? 1 : 2
  }
}

/** Help and the version; false: the command is to be run. */
async function shown(name: string, rest: readonly string[], io: Io): Promise<boolean> {
  if (name === 'help' && rest[0] !== undefined && rest[0] !== 'help')
    io.stdout.write(`${(await commandOf(rest[0])).usage}\n`)
  else if (name === 'help' || name === '--help' || name === '-h') await help(io)
  else if (name === '--version' || name === '-v') io.stdout.write(`${packageVersion}\n`)
  else if (rest.includes('--help') || rest.includes('-h'))
    io.stdout.write(`${(await commandOf(name)).usage}\n`)
  else return false
  return true
}

async function commandOf(name: string): Promise<Command> {
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (load) return (await load()).command
  const near = didYouMean(name, Object.keys(commands))
  throw new GatewayError(
    'RG_COMMAND_INVALID',
    `there is no command '${name}'${near || '; see reward-gateway help'}`,
  )
}

const wantsStack = (argv: readonly string[], io: Io): boolean =>
  Boolean(io.env[stackVariable]) || /--log-level(?:=| )(?:debug|trace)\b/.test(argv.join(' '))

async function help(io: Io): Promise<void> {
  io.stdout.write('reward-gateway: serves reward models and rule rewards to RL trainers\n\n')
  for (const [name, load] of Object.entries(commands)) {
    io.stdout.write(`  ${name.padEnd(10)} ${(await load()).command.summary}\n`)
  }
  io.stdout.write('\nreward-gateway COMMAND --help explains a command; --version tells the version.\n')
}

// npm links the command, so the started file's real path is compared.
if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort(name))
  const { stdin, stdout, stderr, env } = process
  // `reward-gateway ... | head` closes our output early; that is no failure.
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
