#!/usr/bin/env node
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { GatewayError } from '../errors.ts'
import { nearestName } from '../nearest-name.ts'
import { packageVersion } from '../package-version.ts'
import type { Command, Io } from './command.ts'
import { tell } from './command.ts'

/** Commands load when they are asked for: `serve` need not pay for plots, nor `score` for a server. */
const commands: Readonly<Record<string, () => Promise<{ readonly command: Command }>>> = {
  serve: () => import('./serve.ts'),
  score: () => import('./score.ts'),
  check: () => import('./check.ts'),
  prepare: () => import('./prepare.ts'),
  analyze: () => import('./analyze.ts'),
  report: () => import('./report.ts'),
  diff: () => import('./diff.ts'),
  evaluate: () => import('./evaluate.ts'),
  compare: () => import('./compare.ts'),
  calibrate: () => import('./calibrate.ts'),
  audit: () => import('./audit.ts'),
  explain: () => import('./explain.ts'),
  simulate: () => import('./simulate.ts'),
  demo: () => import('./demo.ts'),
  import: () => import('./import.ts'),
}

/** `reward-gateway COMMAND ...`; the exit code is 0, 1 where the work failed, 2 where the arguments are wrong. */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  const [name = 'help', ...rest] = argv
  if (name === 'help' || name === '--help' || name === '-h') return help(io)
  if (name === '--version' || name === '-v') {
    io.stdout.write(`${packageVersion}\n`)
    return 0
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!load) {
    const near = nearestName(name, Object.keys(commands))
    io.stderr.write(
      `reward-gateway: no command '${name}'${near ? `; did you mean '${near}'?` : ''} See reward-gateway help.\n`,
    )
    return 2
  }
  const { command } = await load()
  if (rest.includes('--help') || rest.includes('-h')) {
    io.stdout.write(`${command.usage}\n`)
    return 0
  }
  try {
    return await command.run(rest, io)
  } catch (error) {
    tell(io, error)
    return error instanceof GatewayError && error.code === 'RG_COMMAND_INVALID' ? 2 : 1
  }
}

async function help(io: Io): Promise<number> {
  io.stdout.write('reward-gateway: serves reward models and rule rewards to RL trainers\n\n')
  for (const [name, load] of Object.entries(commands)) {
    io.stdout.write(`  ${name.padEnd(10)} ${(await load()).command.summary}\n`)
  }
  io.stdout.write('\nreward-gateway COMMAND --help explains a command; --version tells the version.\n')
  return 0
}

// npm links the command, so the started file's real path is compared.
if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort(name))
  const { stdin, stdout, stderr, env } = process
  // `reward-gateway ... | head` closes our output early; that is no failure.
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
