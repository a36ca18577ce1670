/** Unbiased pass@k of one problem: 1 - C(n-c, k) / C(n, k) for n answers of which c are right; 1 where n-c < k. Chen et al. 2021. */
export function passAtK(n: number, c: number, k: number): number {
  if (n - c < k) return 1
  let miss = 1
  for (let drawn = 0; drawn < k; drawn++) miss *= (n - c - drawn) / (n - drawn)
  return 1 - miss
}

/** Whether one of the first k answers is right. */
export const passesAmongFirst = (isRight: readonly boolean[], k: number): boolean =>
  isRight.slice(0, k).includes(true)

/** Index of the first answer that has the most frequent text among the first k; ties: the text met first. -1 of nothing. */
export function majorityAnswer(answers: readonly string[], k: number): number {
  const counts = new Map<string, number>()
  for (const answer of answers.slice(0, k)) counts.set(answer, (counts.get(answer) ?? 0) + 1)
  let [best, most] = ['', 0]
  for (const [answer, count] of counts) if (count > most) [best, most] = [answer, count]
  return answers.indexOf(best)
}
