import { z } from 'zod'
import { suiteConfig } from './suite.ts'

/** The JSON Schema of a suite, for editors. */
export const suiteSchema = (): object => ({
  title: 'A benchmark suite of reward-gateway',
  ...z.toJSONSchema(suiteConfig, { io: 'input' }),
})
