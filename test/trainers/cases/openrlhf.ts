import { renderedPrompt, renderedText, type TrainerCase } from '../case.ts'

export const cases: Readonly<Record<string, TrainerCase>> = {
  openrlhf: {
    path: '/wire/openrlhf/judged',
    rows: 4,
    body: (rows) => ({
      query: rows.map(renderedText),
      prompts: rows.map(renderedPrompt),
      labels: rows.map(({ truth }) => truth),
    }),
    read(reply, count) {
      // Python's json reads NaN, which extra_logs has where there is no number.
      const { rewards } = JSON.parse(reply.replaceAll(/(?<=[[,])NaN(?=[\],])/g, 'null')) as {
        rewards: number[]
      }
      if (rewards.length !== count) throw new Error(`${rewards.length} rewards for ${count} rows`)
      return rewards
    },
  },
}
