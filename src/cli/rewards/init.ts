import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { makeFolder } from '../../core/make-folder.ts'
import { unwritable } from '../../workbench/dataset/files.ts'
import { defineCommand } from '../command.ts'
import { packageFolder } from '../gateway.ts'
import { misused } from '../options.ts'

/** Files that exist are never replaced. */
export const command = defineCommand({
  name: 'init',
  summary: 'makes a project with a rule, a judge, their configs and their tests',
  synopsis: ['DIR'],
  about: `Makes a folder with reward functions of your own: a rule and a judge, the contract tests of both, a reward that combines
them, and rows to try it on. README.md in it lists the commands.`,
  example: 'my-rewards',
  options: {},
  positionals: 'folders',
  async run({ positionals }, io) {
    const [folder, ...more] = positionals
    if (folder === undefined || more.length > 0) throw misused('one DIR is needed', 'init')
    const starter = packageFolder('starter')
    const files = new Map<string, string>([
      ...readdirSync(starter, { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.\w+$/.test(name))
        .sort()
        .map((name) => [name, readFileSync(join(starter, name), 'utf8')] as const),
      ['package.json', packageJson(folder, dirname(starter))],
      ['.gitignore', 'node_modules\nrecords\n'],
    ])
    const there = [...files.keys()].filter((name) => existsSync(join(folder, name)))
    if (there.length > 0)
      throw new GatewayError(
        'RG_INPUT_INVALID',
        `${folder}: ${there.join(', ')} exists; choose another folder`,
      )
    for (const [name, text] of files) await write(join(folder, name), text)
    io.stdout.write(
      `${[...files.keys()].map((name) => `wrote ${join(folder, name)}`).join('\n')}\n\n` +
        `Next: cd ${folder} && npm install && npm test, then follow README.md there.\n`,
    )
    return 0
  },
})

async function write(path: string, text: string): Promise<void> {
  try {
    await makeFolder(dirname(path))
    writeFileSync(path, text, { flag: 'wx' })
  } catch (error) {
    unwritable(error)
  }
}

/** The package.json of a project in `folder` that uses the package at `root`: a version of it, or the clone itself. */
function packageJson(folder: string, root: string): string {
  const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const isInstalled = basename(dirname(root)) === 'node_modules'
  const gateway = isInstalled ? `^${own.version}` : `file:${relative(resolve(folder), root)}`
  const project = {
    name:
      basename(resolve(folder))
        .toLowerCase()
        .replace(/[^a-z0-9._-]+/g, '-')
        .replace(/^[._-]+/, '') || 'rewards',
    private: true,
    type: 'module',
    scripts: { test: 'jiti reward-functions/last-line.test.ts && jiti reward-functions/polite.test.ts' },
    dependencies: { 'reward-gateway': gateway, zod: own.dependencies.zod },
    devDependencies: { jiti: own.dependencies.jiti },
  }
  return `${JSON.stringify(project, null, 2)}\n`
}
