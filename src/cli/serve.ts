import { parsed, wholeNumber } from './arguments.ts'
import type { Command } from './command.ts'
import { configsOf } from './configs.ts'
import { startJudges } from './judges.ts'
import { openServer, type RunningServer } from './server.ts'

const usage = `reward-gateway serve [--config PATH] [--reward-functions DIR]... [--host HOST] [--port PORT]
                     [--simulate] [--log-level LEVEL]

Serves rewards over HTTP until SIGINT or SIGTERM, then finishes what is in flight and exits 0.
--config is an rm-config, or a folder of them with a gateway.yaml; without it the shipped ones are served.
--simulate starts simulated judges in this process and serves with them.`

export const command: Command = {
  summary: 'serves rewards over HTTP',
  usage,
  async run(argv, io) {
    const { values } = parsed({
      args: [...argv],
      options: {
        config: { type: 'string' },
        'reward-functions': { type: 'string', multiple: true, default: [] },
        host: { type: 'string' },
        port: { type: 'string' },
        simulate: { type: 'boolean', default: false },
        'log-level': { type: 'string', default: 'info' },
      },
    })
    const judges = values.simulate ? await startJudges({ all: true }) : null
    let server: RunningServer | undefined
    try {
      server = await openServer({
        ...configsOf(values),
        functionFolders: values['reward-functions'],
        env: { ...io.env, ...judges?.env },
        logLevel: values['log-level'],
        ...(values.host !== undefined && { host: values.host }),
        ...(values.port !== undefined && { port: wholeNumber('port', values.port, 0, 65_535) }),
      })
      io.stdout.write(
        `reward-gateway serves ${server.rewards.join(', ')} at ${server.url} (docs: ${server.url}/docs)\n`,
      )
      await aborted(io.signal)
    } finally {
      await server?.close()
      await judges?.close()
    }
    return 0
  },
}

const aborted = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
