import { countdown } from './countdown.ts'
import type { Family } from './family.ts'
import { gsm8k } from './gsm8k.ts'
import { npgMuse } from './npg-muse.ts'
import { rider } from './rider.ts'
import { toolCall } from './tool-call.ts'

/** Every kind of training data that can be prepared, by its name. */
export const families: ReadonlyMap<string, Family> = new Map(
  [gsm8k, countdown, toolCall, rider, npgMuse].map((family) => [family.name, family]),
)
