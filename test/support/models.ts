import type { Test } from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import type { Failure } from '../../src/core/sample/sample.ts'
import type { AskError, AskRequest } from '../../src/scoring/models/interface/ask.ts'
import { type ModelConfig, modelConfig } from '../../src/scoring/models/interface/model-config.ts'
import type { Models } from '../../src/scoring/models/models.ts'
import { type ModelsOptions, openModels } from '../../src/scoring/models/models.ts'
import { type Script, type ScriptedServer, scriptedServer } from './scripted-server.ts'

type Written = Omit<Parameters<typeof modelConfig.parse>[0] & object, never> | Record<string, unknown>

/** For tests whose servers must see questions alone, or whose clock no probe may move. Whoever needs it says so. */
export const probesOff = { health: { interval_s: 0 } } as const

/**
 * For tests of how questions fail that no instance can be asked: by default they wait until their deadline. Whoever needs it says
 * so.
 */
export const failsSoon = { wait_for_instance: 0 } as const

/** The config of a model with these instances; what `more` does not say has its default, probes included. */
export const configOf = (instances: readonly unknown[], more: Written = {}): ModelConfig =>
  modelConfig.parse({ model: 'm', instances, ...more })

/** Servers with these scripts behind one model `judge`; all end with the test. */
export async function judge(
  t: Test,
  scripts: readonly Script[],
  more: Written = {},
  options: Partial<ModelsOptions> = {},
): Promise<{ models: Models; server: ScriptedServer; servers: ScriptedServer[]; ask: Asker }> {
  const servers = await Promise.all(scripts.map((script) => scriptedServer(script)))
  // A clock that a test moves would end a probe before its reply has come.
  const config = configOf(
    servers.map(({ url }) => url),
    { ...(options.clock && probesOff), ...more },
  )
  const models = openModels({ judge: config }, { clock: systemClock, ...options })
  t.teardown(async () => {
    await models.close()
    await Promise.all(servers.map((server) => server.kill()))
  })
  // Questions wait for an instance's first probe.
  await until(() =>
    models.snapshot().every(({ instances }) => instances.every(({ state }) => state !== 'joining')),
  )
  const clock = options.clock ?? systemClock
  const ask: Asker = (input, request = {}) =>
    models.ask({ ...question(input, clock.now() + 60_000), ...request } as AskRequest<'generate'>)
  const [server] = servers
  if (!server) throw new Error('a judge needs a server')
  return { models, server, servers, ask }
}

export type Asker = (
  input: AskRequest<'generate'>['input'],
  request?: Partial<AskRequest>,
) => ReturnType<typeof askGenerate>
declare const askGenerate: (request: AskRequest<'generate'>) => Promise<{
  answer: { text: string; finishReason: string }
  instance: string
  source: string
  attempts: number
  tokens: { prompt: number; completion: number }
}>

/** A question whose key is its input. */
export const question = (input: unknown, deadline: number): AskRequest => ({
  model: 'judge',
  ask: 'generate',
  input: input as string,
  key: JSON.stringify(input),
  draw: 0,
  prefix: '',
  deadline,
  signal: new AbortController().signal,
})

/** The failure that an ask ends with; the promise must reject. */
export const failureOf = (asked: Promise<unknown>): Promise<Failure> =>
  asked.then(
    () => {
      throw new Error('the ask was answered')
    },
    (error: AskError) => error.failure ?? Promise.reject(error),
  )

/** Lets the sockets speak until `done`, and what follows from it happen. */
export const until = async (done: () => boolean): Promise<void> => {
  while (!done()) await new Promise(setImmediate)
  await new Promise(setImmediate)
}
