import { once } from 'node:events'
import { systemClock } from '../../core/clock.ts'
import { defineCommand } from '../command.ts'
import { flag, misused, text, whole } from '../options.ts'
import { cannotListen } from './listening.ts'

const loopback = /^(?:localhost|127(?:\.\d+){3}|::1)$/

function languagesIn(list: string, known: readonly string[]): readonly string[] {
  const names = list.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return names
  throw misused(`there is no language '${unknown}'; there are ${known.join(', ')}`)
}

/** Exit code 0 after a signal, once the programs that run have ended. */
export const command = defineCommand({
  name: 'sandbox',
  summary: 'runs programs of code rewards for gateways on other machines',
  synopsis: [''],
  about: `Runs programs that gateways send, each in a process that reaches no file, no network and no other process, until SIGINT or
SIGTERM; then it finishes the programs that run and exits with code 0. It refuses to start where programs cannot be
confined. Write its address into gateway.yaml: sandboxes: {fleet: {backend: reward-gateway, instances: [URL]}}.`,
  example: '--host 0.0.0.0 --port 8100 --key-env SANDBOX_KEY',
  options: {
    host: text('HOST', 'the address to listen at; 0.0.0.0 listens at all addresses', { or: '127.0.0.1' }),
    port: whole('PORT', 'the port to listen at; 0 selects a free one', { high: 65_535, or: 8100 }),
    'key-env': text(
      'NAME',
      'the environment variable with the key that gateways send; needed beyond this machine',
    ),
    programs: whole(
      'N',
      'programs that run at once, at most one for each core; by default one for each core but one',
      {
        low: 1,
        high: 256,
      },
    ),
    'max-queue': whole('N', 'programs that wait for their turn; more are refused with 429', {
      low: 0,
      high: 1_000_000,
      or: 256,
    }),
    'max-body-mb': whole('MB', 'size of a program with its cases', { low: 1, high: 1024, or: 64 }),
    python: text('COMMAND', 'the interpreter, 3.9 or later', { or: 'python3' }),
    languages: text('LIST', 'languages of programs, with commas between: python, cpp, javascript', {
      or: 'python',
    }),
    unconfined: flag('confines nothing: only for programs that you trust'),
    'grace-s': whole('SECONDS', 'how long programs that run may finish after a signal', {
      low: 0,
      high: 86_400,
      or: 60,
    }),
  },
  async run({ values }, io) {
    const { host, port, 'key-env': variable, python, programs } = values
    if (!loopback.test(host) && variable === undefined)
      throw misused(
        `${host} can be reached from other machines, so programs need a key: name its environment variable with --key-env`,
      )
    const [{ openSandboxServer }, { readKeys }, { localConfig, programLanguages }] = await Promise.all([
      import('../../serving/sandbox-server.ts'),
      import('../../scoring/gateway/keys.ts'),
      import('../../scoring/sandboxes/sandbox-config.ts'),
    ])
    const log = (line: object): void => {
      io.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), ...line })}\n`)
    }
    const server = await openSandboxServer({
      host,
      port,
      sandbox: localConfig.parse({
        python,
        languages: languagesIn(values.languages, programLanguages),
        isolation: values.unconfined ? 'unconfined' : 'auto',
        ...(programs !== undefined && { programs }),
      }),
      maxQueue: values['max-queue'],
      maxBodyBytes: values['max-body-mb'] * 1024 * 1024,
      keys:
        variable === undefined
          ? null
          : readKeys({ sandbox: { env: variable, scopes: ['score'] } }, io.env, '--key-env'),
      clock: systemClock,
      log,
    }).catch((cause) => {
      throw cannotListen(cause, { host, port })
    })
    const { text, isConfined } = server.confinement
    io.stdout.write(`reward-gateway sandbox at ${server.url}: ${text}\n`)
    if (!isConfined) log({ level: 'warn', msg: 'programs are not confined' })
    if (!io.signal.aborted) await once(io.signal, 'abort')
    await server.close(values['grace-s'] * 1000)
    return 0
  },
})
