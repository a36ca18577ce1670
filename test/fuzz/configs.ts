import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayError } from '../../src/core/errors.ts'
import type { FunctionHost } from '../../src/scoring/functions/function-host.ts'
import { readConfigs } from '../../src/scoring/plan/configs.ts'
import { resolvePlans } from '../../src/scoring/plan/resolve.ts'
import type { Texts } from './texts.ts'

/** rm-configs, damaged line by line or as text: always a plan, or an error that names its places. */
export async function fuzzConfigs(folder: string, functions: FunctionHost, texts: Texts, count: number) {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  const gateway = readFileSync(join(folder, 'gateway.yaml'), 'utf8')
  const rewards = files
    .filter((name) => name !== 'gateway.yaml')
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
  const faults: string[] = []
  let plans = 0
  for (let k = 0; k < count; k++) {
    const { name, text } = texts.one(rewards)
    const isShared = texts.below(4) === 0
    const damaged = mutated(texts, isShared ? gateway : text)
    const written = [
      { file: 'gateway.yaml', text: isShared ? damaged : gateway },
      { file: name, text: isShared ? text : damaged },
    ]
    try {
      await resolvePlans(readConfigs(written, {}), functions)
      plans++
    } catch (error) {
      const isClear =
        error instanceof GatewayError &&
        error.problems.length > 0 &&
        error.problems.every(({ message }) => message.length > 0)
      if (!isClear)
        faults.push(
          `${isShared ? 'gateway.yaml' : name}: ${error instanceof Error ? error.stack : error}\n${damaged}`,
        )
    }
  }
  return { faults, plans }
}

function mutated(texts: Texts, text: string): string {
  const lines = text.split('\n')
  for (let left = 1 + texts.below(3); left > 0; left--) {
    const at = texts.below(lines.length)
    const line = lines[at] ?? ''
    const change = texts.below(7)
    if (change === 0) lines.splice(at, 1)
    else if (change === 1) lines.splice(at, 0, texts.one(lines))
    else if (change === 2) lines[at] = line.replace(/:.*/u, `: ${texts.one(values)}`)
    else if (change === 3) lines[at] = line.replace(/[\w-]+:/u, `${texts.one(keys)}:`)
    else if (change === 4) lines[at] = `${' '.repeat(texts.below(6))}${line.trim()}`
    else if (change === 5) lines[at] = texts.damaged(line)
    else
      lines[at] = line.replace(
        /[0-9.]+/u,
        texts.one(['-1', '0', '1e999', '.nan', '1.5', '99999999999999999999', '0x10']),
      )
  }
  return lines.join('\n')
}

const values = [
  'null',
  '[]',
  '{}',
  '.inf',
  '-1',
  'true',
  `"\${HOME}"`,
  `"\${X:-y}"`,
  '*a',
  '&a x',
  '!!js/function x',
  '{ __proto__: 1 }',
  'rule == 1 and',
  '"\\ud800"',
  '|',
  '[1, 2',
  'rule ** 9999',
  '2001-01-01',
]
const keys = [
  'steps',
  'weight',
  '__proto__',
  'constructor',
  'gate',
  'when',
  'model',
  'function',
  'options',
  'formula',
  'votes',
  'name',
  'on_invalid',
  'group',
  'models',
  'limits',
  '<<',
]
