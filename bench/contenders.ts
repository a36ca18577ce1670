import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MeasuredProcess, startMeasured } from './measured-process.ts'

/** Something between who asks and the judge, under measurement. */
export interface Contender {
  readonly name: string
  readonly server: MeasuredProcess
  readonly path: string
  /** The request for one sample. */
  body(sample: BenchSample): string
}

export interface BenchSample {
  readonly id: string
  readonly prompt: string
  readonly response: string
}

const here = import.meta.dirname
const venv = join(here, '.venv-proxies')

/** The Python of the environment that holds the others' proxies; installed where it is missing. */
export function pythonOfProxies(): string {
  const python = join(venv, 'bin/python')
  if (!existsSync(join(venv, 'bin/vllm-router'))) {
    execFileSync('python3', ['-m', 'venv', venv])
    const packages = ['vllm-router', 'sglang-router', 'litellm[proxy]', 'aiohttp', 'orjson', 'uvloop']
    execFileSync(python, ['-m', 'pip', 'install', '-q', ...packages], { stdio: 'inherit' })
  }
  return python
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

const at = (port: number): string => `http://127.0.0.1:${port}`

/** Starts the judge and everything that is measured in front of it, each in a process of its own. */
export async function startContenders(): Promise<
  Record<'direct' | 'proxy' | 'gateway' | 'router' | 'litellm', Contender>
> {
  pythonOfProxies()
  const [judge, proxy, gateway, router, litellm] = [8484, 8485, 8486, 8487, 8488] as const
  const jiti = ['node', 'node_modules/.bin/jiti']
  const direct = await startMeasured([...jiti, 'bench/judge-server.ts', String(judge)], at(judge), '/')
  const litellmConfig = join(mkdtempSync(join(tmpdir(), 'litellm-')), 'config.json')
  writeFileSync(
    litellmConfig,
    JSON.stringify({
      model_list: [
        { model_name: 'judge', litellm_params: { model: 'hosted_vllm/judge', api_base: `${at(judge)}/v1` } },
      ],
    }),
  )
  const chat = { path: '/v1/chat/completions', body: question }
  return {
    direct: { name: 'direct', server: direct, ...chat },
    proxy: {
      name: 'Fastify + undici',
      server: await startMeasured([...jiti, 'bench/proxy.ts', String(proxy), at(judge)], at(proxy), '/livez'),
      path: '/score',
      body: samples({}),
    },
    gateway: {
      name: 'reward-gateway',
      server: await startMeasured(
        `node dist/src/cli/main.js serve --config bench/configs/judged.yaml --port ${gateway} --log-level warn`.split(
          ' ',
        ),
        at(gateway),
        '/livez',
        { BENCH_JUDGE: at(judge), NODE_OPTIONS: '--max-semi-space-size=64' },
      ),
      path: '/v1/score',
      body: samples({ reward: 'judged' }),
    },
    router: {
      name: 'vllm-router',
      server: await startMeasured(
        [
          join(venv, 'bin/vllm-router'),
          ...`--host 127.0.0.1 --port ${router} --worker-urls ${at(judge)} --policy round_robin --prometheus-port 8489 --log-level error`.split(
            ' ',
          ),
        ],
        at(router),
        '/health',
      ),
      ...chat,
    },
    litellm: {
      name: 'LiteLLM',
      server: await startMeasured(
        [
          join(venv, 'bin/litellm'),
          ...`--config ${litellmConfig} --host 127.0.0.1 --port ${litellm} --num_workers 1`.split(' '),
        ],
        at(litellm),
        '/health/liveliness',
        {
          LITELLM_LOCAL_MODEL_COST_MAP: 'True',
          LITELLM_LOG: 'ERROR',
          LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true',
          PATH: `${join(venv, 'bin')}:${process.env.PATH}`,
        },
      ),
      ...chat,
    },
  }
}
