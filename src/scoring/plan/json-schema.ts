import { z } from 'zod'
import { gatewayConfig } from './gateway-config.ts'
import { rewardConfig } from './reward-config.ts'

/** JSON Schemas of the two kinds of config, for editors, by their file names in rm-configs/. */
export function configSchemas(): Readonly<Record<string, object>> {
  return {
    'gateway.schema.json': {
      title: 'gateway.yaml of reward-gateway',
      ...z.toJSONSchema(gatewayConfig, { io: 'input' }),
    },
    'reward.schema.json': {
      title: 'An rm-config of reward-gateway',
      ...z.toJSONSchema(rewardConfig, { io: 'input' }),
    },
  }
}
