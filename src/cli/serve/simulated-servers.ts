import type { InjectedFault } from '../../simulator/faults.ts'
import { startSimulatedServer } from '../../simulator/server.ts'
import type { ServerStats } from '../../simulator/stats.ts'
import { exampleRollouts } from '../../simulator/word-problems.ts'

/** Simulated model servers for the shipped configs: two for judge-a, one for each other model. */
export interface SimulatedServers {
  /** The addresses and names, in the environment variables that the shipped configs read. */
  readonly env: Readonly<Record<string, string>>
  /** One entry for each server. */
  stats(): readonly { readonly model: string; readonly url: string; readonly stats: ServerStats }[]
  /** The servers of a model have this fault until `recover`. By default they answer 500 to every question. */
  fail(model: string, fault?: InjectedFault): void
  recover(): void
  close(): Promise<void>
}

/** The default median latency is 5 ms. */
interface SimulatedServerOptions {
  readonly latencyMedianMs?: number
  /** Adds the models that the demo does not need: for scalar scores, embeddings, steps and images. */
  readonly all?: boolean
}

/** `judge-b` gives some wrong verdicts, so that the judges visibly differ. */
export async function startSimulatedServers(options: SimulatedServerOptions = {}): Promise<SimulatedServers> {
  const answers = Object.fromEntries(
    exampleRollouts().map(({ prompt, ground_truth }) => [prompt[0]?.content ?? '', ground_truth]),
  )
  const fleet = [
    { model: 'judge-a', seed: 1, wrongRate: 0 },
    { model: 'judge-a', seed: 2, wrongRate: 0 },
    { model: 'judge-b', seed: 3, wrongRate: 0.1 },
    ...(options.all
      ? [
          { model: 'scalar', seed: 4, wrongRate: 0 },
          { model: 'embedder', seed: 5, wrongRate: 0 },
          { model: 'prm', seed: 6, wrongRate: 0 },
          { model: 'vlm', seed: 7, wrongRate: 0 },
        ]
      : []),
  ]
  const latency = { latencyMedianMs: options.latencyMedianMs ?? 5, latencySigma: 0.5 }
  const servers = await Promise.all(
    fleet.map(async (server) => ({
      model: server.model,
      server: await startSimulatedServer({ ...server, ...latency, policy: 'reference', answers }),
    })),
  )
  return {
    env: Object.fromEntries(
      servers.flatMap(({ model, server }, at) => {
        const variable = model.toUpperCase().replaceAll('-', '_')
        const earlier = servers.slice(0, at).filter((one) => one.model === model).length
        return [
          [`${variable}_${earlier}`, server.url],
          [`${variable}_MODEL`, model],
        ]
      }),
    ),
    stats: () => servers.map(({ model, server }) => ({ model, url: server.url, stats: server.stats() })),
    fail: (failing, fault = { kind: '500' }) => {
      for (const { model, server } of servers) if (model === failing) server.set(fault)
    },
    recover: () => {
      for (const { server } of servers) server.set()
    },
    close: async () => void (await Promise.all(servers.map(({ server }) => server.close()))),
  }
}
