import { hostname } from 'node:os'
import { jsonLine } from '../../core/json/text.ts'
import { defineCommand } from '../command.ts'
import { configsOf, functionFolders } from '../gateway.ts'
import { file, flag, misused, oneOf, text, whole } from '../options.ts'
import type { RunningServer } from './server.ts'

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** Exit code 0 after SIGINT or SIGTERM and the end of the requests in flight. */
export const command = defineCommand({
  name: 'serve',
  summary: 'serves rewards over HTTP',
  synopsis: [''],
  about: `Serves rewards over HTTP until SIGINT or SIGTERM, then finishes the requests in flight and exits with code 0.
SIGHUP reads configs, reward functions and keys again. If they have a mistake, the log says why and the old ones stay
in use.`,
  example: '--config configs --reward-functions reward-functions --port 8080 --watch',
  options: {
    config: file(
      'PATH',
      'an rm-config, or a folder of them with a gateway.yaml; the shipped ones by default',
    ),
    'reward-functions': functionFolders,
    host: text(
      'HOST',
      'the address to listen at (default 127.0.0.1, or what the configs say); 0.0.0.0 listens at all addresses',
    ),
    port: whole(
      'PORT',
      'the port to listen at (default 8080, or what the configs say); 0 selects a free one',
      {
        high: 65_535,
      },
    ),
    watch: flag('reloads when a file of the configs, functions or keys changes'),
    simulate: flag(
      'starts simulated judges in this process, whose addresses the configs read from variables, and serves with them alone',
    ),
    'log-level': oneOf(logLevels, `the lowest level that is logged: ${logLevels.join(', ')}`, {
      or: 'info',
      value: 'LEVEL',
    }),
  },
  async run({ values }, io) {
    const { host, port, 'log-level': logLevel } = values
    if (host === '') throw misused('--host needs a value; 0.0.0.0 listens at all addresses')
    let opening: Promise<RunningServer> | undefined
    // A SIGHUP without a listener ends the process, so listen before the server opens. Until then there is nothing to reload.
    const endHangups = io.onHangup?.(
      () =>
        void opening?.then(
          (server) => server.reload(),
          () => {},
        ),
    )
    const simulated = values.simulate
      ? await (await import('./simulated-servers.ts')).startSimulatedServers({ all: true })
      : null
    try {
      const { openServer } = await import('./server.ts')
      opening = openServer({
        ...configsOf(values),
        functionFolders: values['reward-functions'],
        env: { ...io.env, ...simulated?.env },
        logLevel,
        watch: values.watch,
        simulates: values.simulate,
        simulated: simulated?.stats().map(({ url }) => url),
        ...(host !== undefined && { host }),
        ...(port !== undefined && { port }),
      })
      const server = await opening
      const { url, rewards } = server
      const msg = `reward-gateway serves ${rewards.join(', ')} at ${url} (page: ${url}/ui/, docs: ${url}/docs)`
      // The log has this stream too, so that a program that reads it gets JSON alone.
      const from = { pid: process.pid, hostname: hostname() }
      const line = { level: 'info', time: new Date().toISOString(), ...from, url, rewards, msg }
      io.stdout.write(io.stdout.isTTY ? `${msg}\n` : jsonLine(line))
      await aborted(io.signal)
    } finally {
      endHangups?.()
      await (await opening?.catch(() => null))?.close()
      await simulated?.close()
    }
    return 0
  },
})

const aborted = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
