import { startSimulatedServer } from '../../simulator/server.ts'
import type { ServerStats } from '../../simulator/stats.ts'
import { exampleRollouts } from '../../simulator/word-problems.ts'

/** Simulated model servers for the shipped configs: two of the one judge, one of the other. */
export interface Judges {
  /** The addresses, under the names that rm-configs/gateway.yaml reads. */
  readonly env: Readonly<Record<string, string>>
  /** By model and address. */
  stats(): readonly { readonly model: string; readonly url: string; readonly stats: ServerStats }[]
  close(): Promise<void>
}

/** Absent: half of the answers take up to 5 ms. */
interface JudgeOptions {
  readonly latencyMedianMs?: number
  /** Servers that answer embeddings and scalar scores, too; the demo needs none. */
  readonly all?: boolean
}

/** `judge-b` disagrees with the truth now and then, so that two judges are seen to differ. */
export async function startJudges(options: JudgeOptions = {}): Promise<Judges> {
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
      servers.map(({ model, server }, at) => {
        const earlier = servers.slice(0, at).filter((one) => one.model === model).length
        return [`${model.toUpperCase().replaceAll('-', '_')}_${earlier}`, server.url]
      }),
    ),
    stats: () => servers.map(({ model, server }) => ({ model, url: server.url, stats: server.stats() })),
    close: async () => void (await Promise.all(servers.map(({ server }) => server.close()))),
  }
}
