import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { reasonOf } from '../../core/system-error.ts'
import type { Imported } from '../../workbench/migrate/imported.ts'
import { importOpenaiGrader } from '../../workbench/migrate/openai-grader.ts'
import { importVerlConfig } from '../../workbench/migrate/verl-config.ts'
import { flag, misused, parsed, text, textOr } from '../arguments.ts'
import type { Command, Io } from '../command.ts'

const usage = `reward-gateway import verl-config FILE [--rule NAME] [--published] [--output DIR] [--name NAME] [--force]
reward-gateway import openai-grader FILE [--output DIR] [--name NAME] [--force]

Turns settings that people already have into an rm-config, and says what could not be carried over.
verl-config: reward_model.* settings with lists, from a YAML file or the overrides of a launch script. --rule is the rule
beside the models (rider-rule); --published computes as the original does, faults included.
openai-grader: the JSON of a grader; the source of a python grader is written out as a .py file.
Files are written into --output (here by default), called like the file or --name; none is replaced without --force.`

const sources = ['verl-config', 'openai-grader']

/** Exit code 0, also where something could not be carried over. */
export const command: Command = {
  summary: 'turns verl settings or an OpenAI grader into an rm-config',
  usage,
  async run(argv, io) {
    const { values, positionals } = parsed(
      argv,
      {
        rule: text,
        published: flag,
        output: textOr('.'),
        name: text,
        force: flag,
      },
      'files',
    )
    const [source = '', file, ...more] = positionals
    if (!sources.includes(source))
      throw refused(
        `there is no import of '${source}'${didYouMean(source, sources)}; ${sources.join(' or ')}`,
      )
    if (file === undefined || more.length > 0) throw refused('name one file')
    const name = values.name ?? basename(file, extname(file)).replace(/[^A-Za-z0-9._-]+/g, '-')
    if (!/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(name) || name === 'gateway')
      throw refused(`'${name}' cannot be a reward's name; give one by --name`)
    const { rule, published } = values
    const settings = textOf(file)
    const imported =
      source === 'verl-config'
        ? importVerlConfig(file, settings, { name, published, ...(rule !== undefined && { rule }) })
        : importOpenaiGrader(file, settings, name)
    write(imported, values.output, values.force, io)
    return 0
  },
}

function write({ files, notes, dropped }: Imported, folder: string, force: boolean, io: Io): void {
  const paths = files.map(({ path, text }) => ({ path: join(folder, path), text }))
  const there = paths.filter(({ path }) => existsSync(path))
  if (there.length > 0 && !force)
    throw refused(`${there.map(({ path }) => path).join(', ')}: exists; --force replaces it`)
  for (const { path, text } of paths) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
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

const refused = (message: string): GatewayError => misused(message, usage)
