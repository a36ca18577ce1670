import { defineGroupRule } from 'reward-gateway/contract'
import { z } from 'zod'

/** How many answers the group has. */
export default defineGroupRule({
  truth: z.unknown(),
  range: [0, 100],
  score: (rows) => rows.map(() => rows.length),
})
