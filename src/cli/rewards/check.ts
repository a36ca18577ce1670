import { defineCommand } from '../command.ts'
import { configOptions, functionFolders } from '../gateway.ts'
import { file, flag, misused, number, oneOf, repeated, seed, text, whole } from '../options.ts'

/** Exit code 1 if a config or the data has an error. */
export const command = defineCommand({
  name: 'check',
  summary: 'explains what configs would do, or names every mistake in them',
  synopsis: ['FILE|DIR...', 'FILE|DIR... --data FILE', 'FILE|DIR... --data FILE --policy URL'],
  about: `Explains in plain words what configs would do, or names every mistake in them with its place; then the exit code is 1.
A marker is sent through each judge's rm_preprocess. If it comes out as text of the author, a response could speak to
the judge.

--data looks at training rows before GPU hours are spent: columns, texts, every ground truth, right answers above wrong
ones, the questions that judges would be asked and whether they fit. Judges are only asked how long texts are. --policy
asks the policy for answers, scores them with the whole reward, and says whether there is anything to learn from. The
exit code is 1 if there is an error, or with --strict a warning.`,
  options: {
    'reward-functions': functionFolders,
    connect: flag(
      'asks each model server whether it is there and serves its model; the exit code is 1 if one is not',
    ),
    fix: flag('first rewrites settings with old names in these files and folders; comments and layout stay'),
    input: file(
      'FILE',
      "sends the marker in this file's first row, for functions that need a certain form of row",
    ),
    data: repeated(file('FILE', 'training rows to look at')),
    reward: configOptions.reward,
    gold: text('COLUMN', 'where the right answers are, in place of extra_info.answer'),
    rows: whole('N', 'looks at the first N rows only', { low: 1 }),
    'answer-tokens': whole('N', 'the length of an answer that questions must have room for, in tokens', {
      low: 1,
    }),
    strict: flag('treats warnings about the data as errors'),
    format: oneOf(['text', 'json'], 'the form of the report about the data', { or: 'text' }),
    policy: text('URL', 'the address of the OpenAI-compatible server of the policy'),
    'policy-model': text('NAME', 'the model that it serves, if there are several'),
    'policy-key-env': text('NAME', 'the environment variable that holds its API key'),
    prompts: whole('N', 'prompts that the policy answers', { low: 1, high: 10_000, or: 5 }),
    answers: whole('N', 'answers to each prompt', { low: 2, high: 1024, or: 8 }),
    temperature: number('T', "the sampling temperature of the policy's answers", { low: 0, or: 1 }),
    'max-tokens': whole('N', 'the length of an answer at most, in tokens', { low: 1, or: 1024 }),
    seed: seed('makes the choice of prompts and the answers repeatable', { or: 42 }),
  },
  positionals: 'files',
  finds: ['RG_CONFIG_INVALID', 'RG_FUNCTION_INVALID'],
  async run({ values, positionals }, io) {
    if (positionals.length === 0) throw misused('a config is needed', 'check')
    if (values.policy !== undefined && values.data.length === 0)
      throw misused('--policy needs --data', 'check')
    const { checkConfigs } = await import('./check-configs.ts')
    return checkConfigs(positionals, values, io)
  },
})
