// Written by `npm run generate`.
import { azure } from './azure.ts'
import { evalProtocol } from './eval-protocol.ts'
import type { TrainerFormat } from './format.ts'
import { llamaFactory } from './llama-factory.ts'
import { axolotl, nemoGym } from './nemo-gym.ts'
import { openInstruct } from './open-instruct.ts'
import { openrlhf } from './openrlhf.ts'
import { slime } from './slime.ts'

/** Every trainer's format that is served. */
export const trainerFormats: readonly TrainerFormat[] = [
  axolotl,
  azure,
  evalProtocol,
  llamaFactory,
  nemoGym,
  openInstruct,
  openrlhf,
  slime,
]
