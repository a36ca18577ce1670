import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { makeFolder } from '../../core/make-folder.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { reasonOf } from '../../core/system-error.ts'
import { unwritable } from '../../workbench/dataset/files.ts'
import type { Imported } from '../../workbench/migrate/imported.ts'
import { importOpenaiGrader } from '../../workbench/migrate/openai-grader.ts'
import { importVerlConfig } from '../../workbench/migrate/verl-config.ts'
import { defineCommand, type Io } from '../command.ts'
import { file, flag, misused, text } from '../options.ts'

const sources = ['verl-config', 'openai-grader'] as const

/** Exit code 0, even if some settings could not be converted. */
export const command = defineCommand({
  name: 'import',
  summary: 'turns verl settings or an OpenAI grader into an rm-config',
  synopsis: ['verl-config FILE [--rule NAME] [--published]', 'openai-grader FILE'],
  about: `Turns settings that you already have into an rm-config, and says what could not be converted.
verl-config: reward_model.* settings with lists, from a YAML file or the overrides of a launch script.
openai-grader: the JSON of a grader; the source of a Python grader is written to a .py file.`,
  example: 'verl-config verl.yaml --output configs',
  options: {
    rule: text('NAME', 'verl-config: the rule to use with the models', { or: 'rider-rule' }),
    published: flag('verl-config: computes rewards as the published code does, including its faults'),
    output: file('DIR', 'where the files are written', { or: '.', suggests: 'folders' }),
    name: text('NAME', 'the name of the reward and its files, instead of that of FILE'),
    force: flag('replaces files that exist'),
  },
  positionals: sources,
  async run({ values, positionals }, io) {
    const [source = '', path, ...more] = positionals
    const known = sources.find((one) => one === source)
    if (known === undefined)
      throw refused(
        source === ''
          ? `name what to import: ${sources.join(' or ')}`
          : `cannot import '${source}'${didYouMean(source, sources)}; use ${sources.join(' or ')}`,
      )
    if (path === undefined || more.length > 0) throw refused('one FILE is needed')
    const name = values.name ?? basename(path, extname(path)).replace(/[^A-Za-z0-9._-]+/g, '-')
    if (!/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(name) || name === 'gateway')
      throw refused(`'${name}' cannot be a reward's name; give one with --name`)
    const { rule, published } = values
    const settings = textOf(path)
    const imported =
      known === 'verl-config'
        ? importVerlConfig(path, settings, { name, published, ...(rule !== undefined && { rule }) })
        : importOpenaiGrader(path, settings, name)
    await write(imported, values.output, values.force, io)
    return 0
  },
})

async function write(
  { files, notes, dropped }: Imported,
  folder: string,
  force: boolean,
  io: Io,
): Promise<void> {
  const paths = files.map(({ path, text }) => ({ path: join(folder, path), text }))
  const there = paths.filter(({ path }) => existsSync(path))
  if (there.length > 0 && !force)
    throw refused(`${there.map(({ path }) => path).join(', ')}: exists; --force replaces it`)
  for (const { path, text } of paths) {
    try {
      await makeFolder(dirname(path))
      writeFileSync(path, text)
    } catch (error) {
      unwritable(error)
    }
    io.stdout.write(`wrote ${path}\n`)
  }
  for (const note of notes) io.stdout.write(`note: ${note}\n`)
  for (const one of dropped) io.stdout.write(`not carried over: ${one}\n`)
  io.stdout.write(`reward-gateway check ${paths[0]?.path} explains what it does\n`)
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new GatewayError('RG_INPUT_INVALID', `${file}: ${reasonOf(cause)}`, { cause })
  }
}

const refused = (message: string): GatewayError => misused(message, 'import')
