import { type MeasuredProcess, startGateway, startScript } from './measured-process.ts'
import { startLiteLlm, startRouter } from './routers.ts'

/** Something between who asks and the judge, under measurement. */
export interface Contender {
  readonly name: string
  readonly server: MeasuredProcess
  readonly path: string
  /** The request for one sample. */
  body(sample: BenchSample): string
}

/** What is scored. */
export interface BenchSample {
  readonly id: string
  readonly prompt: string
  readonly response: string
}

/** As the client of bench/scoring_client.py asks it. */
const question = ({ prompt, response }: BenchSample): string =>
  JSON.stringify({
    model: 'judge',
    messages: [
      {
        role: 'user',
        content: `Does the answer solve the question? Judge the result, not the style.\nReply with 1 (yes) or 0 (no) only.\n\nQuestion:\n${prompt}\n\nAnswer:\n${response}`,
      },
    ],
    temperature: 0,
    structured_outputs: { choice: ['1', '0'] },
  })

const samples = (more: object) => (sample: BenchSample) => JSON.stringify({ ...more, samples: [sample] })

/** Starts the judge and everything that is measured in front of it, each in a process of its own. */
export async function startContenders(): Promise<
  Record<'direct' | 'proxy' | 'gateway' | 'shared' | 'router' | 'litellm', Contender>
> {
  const judge = await startScript('judge-server', 8484)
  const proxy = await startScript('proxy', 8485, judge.url)
  const env = { BENCH_JUDGE: judge.url }
  const gateway = await startGateway('bench/configs/judged.yaml', 8486, env)
  const shared = await startGateway('bench/configs/shared-calls/judged.yaml', 8489, env)
  const router = await startRouter('vllm-router', 'round_robin', 8487, [judge.url])
  const litellm = await startLiteLlm(8488, [judge.url])
  const chat = { path: '/v1/chat/completions', body: question }
  const score = '/v1/score'
  return {
    direct: { name: 'direct', server: judge, ...chat },
    proxy: { name: 'Fastify + undici', server: proxy, path: '/score', body: samples({}) },
    gateway: { name: 'reward-gateway', server: gateway, path: score, body: samples({ reward: 'judged' }) },
    shared: {
      name: 'reward-gateway, calls shared',
      server: shared,
      path: score,
      body: samples({ reward: 'judged' }),
    },
    router: { name: 'vllm-router', server: router, ...chat },
    litellm: { name: 'LiteLLM', server: litellm, ...chat },
  }
}
