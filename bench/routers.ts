/** The routers that the gateway is measured beside, each in front of judges that serve the model `judge`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MeasuredProcess, startMeasured } from './measured-process.ts'
import { pythonEnvironment } from './python-environment.ts'

const packages = ['vllm-router', 'sglang-router', 'litellm[proxy]', 'aiohttp', 'orjson', 'uvloop']

/** The programs of the environment that holds the routers and the Python client. */
export const routerPrograms = (): string => pythonEnvironment('.venv-proxies', packages)

/** A router of this name, in front of judges at these addresses. */
export function startRouter(
  program: 'vllm-router' | 'sglang-router',
  policy: string,
  port: number,
  judges: readonly string[],
): Promise<MeasuredProcess> {
  const limits = ['--log-level', 'error', '--max-concurrent-requests', '4096']
  const own = ['--host', '127.0.0.1', '--port', String(port), '--prometheus-port', String(port + 50)]
  const launch = program === 'sglang-router' ? ['launch'] : []
  const command = [join(routerPrograms(), program), ...launch, ...own, '--policy', policy, ...limits]
  return startMeasured([...command, '--worker-urls', ...judges], port, '/health')
}

/** LiteLLM's proxy with one worker, which gives a call to the judge with the least under way. */
export function startLiteLlm(port: number, judges: readonly string[]): Promise<MeasuredProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'litellm-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const config = join(folder, 'config.json')
  const deployment = (url: string) => ({
    model_name: 'judge',
    litellm_params: { model: 'hosted_vllm/judge', api_base: `${url}/v1` },
  })
  const settings = { routing_strategy: 'least-busy' }
  writeFileSync(config, JSON.stringify({ model_list: judges.map(deployment), router_settings: settings }))
  const programs = routerPrograms()
  const own = ['--host', '127.0.0.1', '--port', String(port), '--num_workers', '1', '--config', config]
  return startMeasured([join(programs, 'litellm'), ...own], port, '/health/liveliness', {
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    LITELLM_LOG: 'ERROR',
    LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true',
    PATH: `${programs}:${process.env.PATH}`,
  })
}
