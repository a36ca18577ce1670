/* IMPORTANT
 * This snapshot file is auto-generated, but designed for humans.
 * It should be checked into source control and tracked carefully.
 * Re-generate by setting TAP_SNAPSHOT=1 and running tests.
 * Make sure to inspect the output below.  Do not ignore changes!
 */
'use strict'
exports[`dist/test/cli/check.test.js > TAP > check explains a config in plain words, and warns about an unguarded judge > must match snapshot 1`] = `
demo (version <hash>): everything at once
  1. rule: gsm8k-progressive scores from 0 to 1. The reward starts with its score.
  2. loose: loose-judge asks judge and other (generate) 2 times each and takes the median, of at least 3 verdicts, scores from 0 to 1. Adds 0.5 x its score. Only where the gate is open. A text without a verdict turns the step off for this sample.
  3. critique: critic asks judge (generate), for a text that later steps read. Only where the gate is open.
  4. blind: blind-judge asks judge (generate), scores from 0 to 1. Multiplies the reward by its score. Only where the gate is open and rule == 1. Reads what critique said. A text without a verdict counts as 0.5.
  5. field: field-judge asks judge (choose), scores from 0 to 1. Adds (0 at step 0, 1 at step 100, linear; 0.25 without a step) x its score. Only where the gate is open and the data source fits chat/*, !chat/x. A text without a verdict makes the sample invalid.
  6. best: best-of scores from 0 to 1. Adds its score.
  The gate is open where rule >= 0.8; where it is closed, gated steps are off and no question is asked.
  The reward lies from 0 to 2.75.
  All answers to a prompt must come in one request.
  A sample that cannot be scored is invalid; trainers that know no 'invalid' are given the mean of its group's valid answers, else 0.
  A request may take 60 s.

plain (version <hash>)
  1. r: countdown scores from 0 to 1. The reward starts with its score.
  The reward lies from 0 to 1.
  A sample that cannot be scored is invalid and has no number.

judge: m by vllm on http://127.0.0.1:8101, http://127.0.0.1:8102; 256 questions at once each, 120 s for one
other: n by openai on no instances yet; 256 questions at once each, 120 s for one
warning: demo, step loose (loose-judge): the prompt holds the response outside a guarded value, so it can instruct the judge; use prompt\`...\`
warning: demo, step blind (blind-judge): the question does not hold the response
the configs of 2 rewards and 2 models are in order, with 2 warnings

`
