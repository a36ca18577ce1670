/** What to do about a figure of the monitors that is out of bounds; docs/monitoring.md says more. */
export const figureAdvice: Readonly<Record<string, string>> = {
  invalid_ratio: 'Filter Samples by "Without a reward" and look at what each kind of failure says.',
  reward_mean:
    'Too low: begin with supervised data, or take easier prompts. Too high: take harder prompts. Useful is 0.1 to 0.8.',
  saturated_groups_ratio: 'Take other prompts, more answers to a prompt, or a finer reward.',
  group_variance: 'The prompts are too easy or too hard for this model: take others.',
  group_entropy_bits: 'Raise the sampling temperature, and look at KL and at the prompts.',
  length_correlation:
    'Read long and short answers of one group. Add overlong-penalty, or tell the judges to ignore length.',
  duplicate_answers_ratio: 'The policy has collapsed, or its sampling temperature is too low.',
  repetition_ratio: 'Read some answers, and add repetition-penalty.',
  rule_judge_disagreement_ratio:
    'Open samples where they differ: the rule or the judge is wrong, or is being fooled.',
  judge_disagreement_ratio: 'Make the template clearer, take a better judge, or draw more votes.',
  constant_judges_ratio:
    'Open a sample and read what the judge is asked and what it answers; then ask its server by hand.',
}

/** The same for other alerts. */
export const advice = {
  missing:
    "Look at the servers, and at the log of the gateway for the reason. 'reward-gateway check --connect' asks them once.",
  suspect:
    'It answers known questions wrongly: look at its chat template, its weights and its quantisation. It comes back after a round in which everything is right.',
  ejected: 'Look at the server. It comes back by itself once it answers.',
  otherModel: 'The server was started with another model: correct it, or the address in gateway.yaml.',
  unconfined:
    'Programs may do what the user of the gateway may. Use a sandbox, as docs/code-rewards.md describes.',
  drift:
    'Was a judge started again with other weights or another template? Compare samples of before and after that step.',
  hacking: 'Stop the run, read the best paid answers, and attack the reward with reward-gateway audit.',
} as const
