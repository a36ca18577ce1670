import { realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import type { Json } from '../../core/sample/sample.ts'
import { reasonOf } from '../../core/system-error.ts'
import type { FunctionHost } from '../../scoring/functions/function-host.ts'
import type { ConfigText } from '../../scoring/plan/config-text.ts'
import { takesOption } from '../../scoring/plan/step-function.ts'
import { fixConfig, functionsOf } from '../../workbench/migrate/fix-config.ts'
import type { Io } from '../command.ts'

/**
 * Renames old settings in the configs that were named directly or by their folder, and returns the new texts. Replaces
 * each file atomically. Rejects with RG_CONFIG_INVALID if a file cannot be written.
 */
export async function fixConfigs(
  texts: readonly ConfigText[],
  named: readonly string[],
  functions: FunctionHost,
  io: Io,
): Promise<readonly ConfigText[]> {
  const places = new Set(named.map((path) => resolve(path)))
  const schemas = await optionSchemas(texts, functions)
  return texts.map((config) => {
    const { file, text } = config
    if (!places.has(resolve(file)) && !places.has(dirname(resolve(file)))) return config
    const fixed = fixConfig(text, (name, key, value) => takesOption(schemas.get(name) ?? null, key, value))
    if (fixed.text !== text) replace(file, fixed.text)
    for (const { line, message } of fixed.fixes) io.stdout.write(`fixed ${file}:${line}: ${message}\n`)
    for (const { line, message } of fixed.remaining) io.stdout.write(`left ${file}:${line}: ${message}\n`)
    return { ...config, text: fixed.text }
  })
}

/** The options of the configs' functions, by name. Leaves out functions that cannot be described; the check reports them. */
async function optionSchemas(
  texts: readonly ConfigText[],
  functions: FunctionHost,
): Promise<ReadonlyMap<string, Json>> {
  const schemas = new Map<string, Json>()
  for (const name of new Set(texts.flatMap(({ text }) => functionsOf(text)))) {
    const description = await functions.describe(name).catch((error: unknown) => {
      if (!(error instanceof GatewayError)) throw error
      return null
    })
    if (description) schemas.set(name, description.optionsSchema)
  }
  return schemas
}

/** Writes a temporary file and renames it, so that no reader sees half a file. Keeps symbolic links. */
function replace(file: string, text: string): void {
  const path = realpathSync(file)
  const unfinished = `${path}.${process.pid}.unfinished`
  try {
    writeFileSync(unfinished, text, { mode: statSync(path).mode, flag: 'wx' })
    renameSync(unfinished, path)
  } catch (error) {
    rmSync(unfinished, { force: true })
    const problems = [{ path: file, message: `cannot be rewritten: ${reasonOf(error)}` }]
    throw new GatewayError('RG_CONFIG_INVALID', 'a config cannot be rewritten', { problems })
  }
}
