import { gsm8kProgressive } from './gsm8k-progressive.ts'
import { npgMuseVectors } from './npg-muse.ts'
import type { Adapter } from './vector.ts'

/** By the name of the folder that holds the vector files. */
export const adapters: Readonly<Record<string, Adapter>> = {
  'gsm8k-progressive': gsm8kProgressive,
  'npg-muse': npgMuseVectors,
}
