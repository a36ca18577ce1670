import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { reasonOf } from '../../core/system-error.ts'
import type { ConfigText } from './config-text.ts'
import { isGatewayFile } from './configs.ts'

const gatewayNames = ['gateway.yaml', 'gateway.yml', 'gateway.json']

/**
 * Reads config files and folders of them (their .yaml, .yml and .json; no folders below, no JSON Schemas). A reward's
 * file brings the gateway file beside it along. Throws RG_CONFIG_INVALID for what is missing or empty.
 */
export function configTexts(paths: readonly string[]): ConfigText[] {
  const problems: Problem[] = []
  const files = paths.flatMap((path) => filesAt(path, problems))
  if (!files.some(isGatewayFile)) {
    const beside = files.map((file) => gatewayNames.map((name) => join(dirname(file), name)).find(existsSync))
    files.unshift(...beside.flatMap((file) => file ?? []))
  }
  const texts = [...new Set(files)].map((file) => ({ file, text: textOf(file, problems) }))
  if (problems.length > 0) {
    throw new GatewayError('RG_CONFIG_INVALID', 'a config cannot be read', { problems })
  }
  return texts
}

function filesAt(path: string, problems: Problem[]): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path]
    const files = readdirSync(path)
      .filter((name) => /\.(?:ya?ml|json)$/.test(name) && !name.endsWith('.schema.json'))
      .sort()
    if (files.length === 0) problems.push({ path, message: 'holds no .yaml or .json files' })
    return files.map((name) => join(path, name))
  } catch (error) {
    problems.push({ path, message: reasonOf(error) })
    return []
  }
}

function textOf(file: string, problems: Problem[]): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    problems.push({ path: file, message: reasonOf(error) })
    return ''
  }
}
