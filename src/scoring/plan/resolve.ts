import { GatewayError, type Problem } from '../../core/errors.ts'
import type { FunctionHost } from '../functions/function-host.ts'
import type { ModelConfig } from '../models/api/model-config.ts'
import type { Configs } from './configs.ts'
import type { GatewaySettings } from './gateway-config.ts'
import type { Plan } from './plan.ts'
import { resolveReward } from './resolve-reward.ts'
import { reportOn } from './reward-report.ts'

/** Everything that configs say, ready to run. */
export interface Resolved {
  readonly gateway: GatewaySettings
  readonly models: ReadonlyMap<string, ModelConfig>
  /** By the names that trainers ask for. */
  readonly plans: ReadonlyMap<string, Plan>
}

/**
 * Makes plans of configs that were read, or throws RG_CONFIG_INVALID with every mistake of every file, each with its
 * place and what to do.
 */
export async function resolvePlans(configs: Configs, functions: FunctionHost): Promise<Resolved> {
  const resolved = await Promise.all(
    configs.rewards.map(async (reward) => {
      const report = reportOn(reward)
      return {
        plan: await resolveReward(reward, configs.models, functions, report),
        problems: report.problems,
      }
    }),
  )
  const problems = inOrder([...configs.problems, ...resolved.flatMap((reward) => reward.problems)])
  if (problems.length > 0) {
    const many = problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`
    throw new GatewayError('RG_CONFIG_INVALID', `the configs have ${many}`, { problems })
  }
  const models = [...configs.models].filter((entry): entry is [string, ModelConfig] => entry[1] !== null)
  return {
    gateway: configs.gateway,
    models: new Map(models),
    plans: new Map(resolved.flatMap(({ plan }) => (plan ? [[plan.name, plan] as const] : []))),
  }
}

/** By file, line and column; each told once. */
function inOrder(problems: readonly Problem[]): Problem[] {
  const place = ({ path }: Problem) => {
    const [, file = path, line = '0', column = '0'] = /^(.*?):(\d+):(\d+)/.exec(path) ?? []
    return { file, line: Number(line), column: Number(column) }
  }
  const unique = new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem]))
  return [...unique.values()].sort((left, right) => {
    const [a, b] = [place(left), place(right)]
    const files = a.file < b.file ? -1 : Number(a.file > b.file)
    return files || a.line - b.line || a.column - b.column
  })
}
