import { flag, given, misused, oneOf, parsed, text, textOr, texts, wholeNumber } from '../arguments.ts'
import type { Command } from '../command.ts'
import { configsOf } from '../gateway.ts'
import { openServer, type RunningServer } from './server.ts'

const usage = `reward-gateway serve [--config PATH] [--reward-functions DIR]... [--host HOST] [--port PORT]
                     [--watch] [--simulate] [--log-level LEVEL]

Serves rewards over HTTP until SIGINT or SIGTERM, then finishes what is in flight and exits 0.
--config is an rm-config, or a folder of them with a gateway.yaml; without it the shipped ones are served.
SIGHUP reads configs, reward functions and keys again; on any mistake the log says why and the old ones stay.
--watch does so whenever one of their files has changed.
--log-level is one of trace, debug, info (the default), warn, error, fatal and silent.
--simulate starts simulated judges in this process and serves with them.`

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Exit code 0 after SIGINT or SIGTERM, once what was in work is done. */
export const command: Command = {
  summary: 'serves rewards over HTTP',
  usage,
  async run(argv, io) {
    const { values } = parsed(argv, {
      config: text,
      'reward-functions': texts,
      host: text,
      port: text,
      watch: flag,
      simulate: flag,
      'log-level': textOr('info'),
    })
    const logLevel = oneOf('log-level', values['log-level'], logLevels)
    if (values.host === '') throw misused('--host needs a value; 0.0.0.0 listens at all addresses')
    const port = given(values.port, (text) => wholeNumber('port', text, 0, 65_535))
    let opening: Promise<RunningServer> | undefined
    // From the first moment on: a hangup that nobody hears ends the process. Before anything is read it asks for nothing.
    const endHangups = io.onHangup?.(
      () =>
        void opening?.then(
          (server) => server.reload(),
          () => {},
        ),
    )
    const judges = values.simulate ? await (await import('./judges.ts')).startJudges({ all: true }) : null
    try {
      opening = openServer({
        ...configsOf(values),
        functionFolders: values['reward-functions'],
        env: { ...io.env, ...judges?.env },
        logLevel,
        watch: values.watch,
        simulates: values.simulate,
        ...(values.host !== undefined && { host: values.host }),
        ...(port !== null && { port }),
      })
      const server = await opening
      io.stdout.write(
        `reward-gateway serves ${server.rewards.join(', ')} at ${server.url} (page: ${server.url}/ui/, docs: ${server.url}/docs)\n`,
      )
      await aborted(io.signal)
    } finally {
      endHangups?.()
      await (await opening?.catch(() => null))?.close()
      await judges?.close()
    }
    return 0
  },
}

const aborted = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
