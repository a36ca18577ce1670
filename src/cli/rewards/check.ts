import { knownTrainers } from '../../trainers/sent.ts'
import { defineCommand } from '../command.ts'
import { configOptions, functionFolders } from '../gateway.ts'
import { file, flag, misused, number, oneOf, repeated, seed, text, whole } from '../options.ts'

/** Exit code 1 if a config or the data has an error. */
export const command = defineCommand({
  name: 'check',
  summary: 'explains what configs do, or lists their mistakes',
  synopsis: [
    'FILE|DIR... [--trainer NAME]',
    'FILE|DIR... --data FILE',
    'FILE|DIR... --data FILE --policy URL',
  ],
  about: `Explains in plain words what configs do, or lists all their mistakes with their places; then the exit code is 1. It sends
a marker through each judge's rm_preprocess, and warns if a response can instruct the judge.

--data looks at training rows before GPU hours are spent: columns, texts, every ground truth, right answers above wrong
ones, the questions that judges would be asked and whether they fit. Judges are only asked how long texts are. --policy
asks the policy for answers, scores them with the whole reward, and says whether there is anything to learn from. The
exit code is 1 if there is an error, or with --strict a warning.`,
  example: 'configs --trainer verl --connect --input rows.jsonl',
  options: {
    'reward-functions': functionFolders,
    connect: flag(
      'checks that each model server responds, serves its model and answers a question of each step that asks it, and that each sandbox server takes programs; the exit code is 1 if one does not, or if a step has no question because --input is missing',
    ),
    fix: flag('first renames old settings in these files and folders; keeps comments and layout'),
    trainer: repeated(
      oneOf(
        knownTrainers,
        'warns about what this trainer does not send and the rewards need, such as the prompt, and about failures that it trains on as numbers',
      ),
    ),
    input: file(
      'FILE',
      "sends the marker, and asks with --connect, about the first of this file's first 20 rows that the step reads, for functions that need rows of a certain form",
    ),
    data: repeated(file('FILE', 'training rows to look at: a file, or hf://OWNER/NAME/SPLIT')),
    reward: configOptions.reward,
    gold: text('COLUMN', 'the field with the right answers, instead of extra_info.answer'),
    rows: whole('N', 'checks only the first N rows', { low: 1 }),
    'answer-tokens': whole('N', 'the answer length that questions must have room for, in tokens', {
      low: 1,
    }),
    strict: flag('treats warnings about the data as errors'),
    format: oneOf(['text', 'json'], 'the form of the report about the data', { or: 'text' }),
    policy: text('URL', 'the address of the OpenAI-compatible server of the policy'),
    'policy-model': text('NAME', 'the model to use, if the server lists several'),
    'policy-key-env': text('NAME', 'the environment variable that holds its API key'),
    prompts: whole('N', 'how many prompts the policy answers', { low: 1, high: 10_000, or: 5 }),
    answers: whole('N', 'answers to each prompt', { low: 2, high: 1024, or: 8 }),
    temperature: number('T', "the sampling temperature of the policy's answers", { low: 0, or: 1 }),
    'max-tokens': whole('N', 'the maximum length of an answer, in tokens', { low: 1, or: 1024 }),
    seed: seed('the seed for the choice of prompts and for the answers', { or: 42 }),
  },
  positionals: 'files',
  finds: ['RG_CONFIG_INVALID', 'RG_FUNCTION_INVALID'],
  async run({ values, positionals }, io) {
    if (positionals.length === 0) throw misused('a config is needed', 'check')
    if (values.policy !== undefined && values.data.length === 0)
      throw misused('--policy needs --data', 'check')
    if (values.trainer.length > 0 && values.data.length > 0)
      throw misused('--trainer is about configs: leave --data out', 'check')
    const { checkConfigs } = await import('./check-configs.ts')
    return checkConfigs(positionals, values, io)
  },
})
