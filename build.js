/**
 * `npm run build`: compiles the gateway and bundles its page into dist. Does nothing if dist is newer than everything
 * that it is made of.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const inputs = ['src', 'reward-functions', 'build.js', 'package.json', 'package-lock.json', 'tsconfig.json']

/** The last complete build began at the time of this file. */
const stamp = join('dist', '.built')
const outputs = [stamp, join('dist', 'src', 'cli', 'main.js'), join('dist', 'ui', 'index.html')]

const steps = [
  { makes: 'the gateway', command: ['tsc', '-p', 'tsconfig.json'] },
  {
    makes: 'its page',
    command: ['vite', 'build', '--config', 'src/serving/ui/vite.config.ts', '--logLevel', 'warn'],
  },
]

/** Folders count too: theirs is the time at which a file was added or deleted. */
const pathsBelow = (input) =>
  statSync(input).isDirectory()
    ? [input, ...readdirSync(input, { recursive: true, encoding: 'utf8' }).map((name) => join(input, name))]
    : [input]

function isFresh() {
  if (!outputs.every((output) => existsSync(output))) return false
  const built = statSync(stamp).mtimeMs
  return inputs
    .filter((input) => existsSync(input))
    .flatMap(pathsBelow)
    .every((path) => statSync(path).mtimeMs < built)
}

/** The exit code of the first step that failed, or 0. */
function build() {
  rmSync(stamp, { force: true })
  const began = new Date()
  const path = `${join('node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`
  for (const { makes, command } of steps) {
    const [program, ...args] = command
    process.stderr.write(`Building ${makes} with ${program}...\n`)
    const { status, error } = spawnSync(program, args, {
      stdio: ['ignore', 2, 2],
      env: { ...process.env, PATH: path },
      shell: process.platform === 'win32',
    })
    if (error) process.stderr.write(`${error.message}; run npm ci first\n`)
    if (status !== 0) return status ?? 1
  }
  mkdirSync('dist', { recursive: true })
  writeFileSync(stamp, '')
  utimesSync(stamp, began, began)
  return 0
}

process.chdir(import.meta.dirname)
process.exitCode = isFresh() ? 0 : build()
