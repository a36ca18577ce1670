import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { openObservedGateway } from '../../serving/observed-gateway.ts'
import { answeredPrompts } from '../../workbench/analysis/answered-prompts.ts'
import { compareAnswers } from '../../workbench/analysis/policy-comparison.ts'
import { settled } from '../../workbench/evaluation/benchmark-settings.ts'
import { evaluateFile } from '../../workbench/evaluation/evaluate-file.ts'
import type { EvaluationSettings } from '../../workbench/evaluation/evaluation.ts'
import { readSuite, type Suite } from '../../workbench/evaluation/suite.ts'
import { evaluationTable } from '../../workbench/report/policy-tables.ts'
import { openPolicy, type Policy } from '../../workbench/rollout/policy.ts'
import type { Command, Io } from '../command.ts'
import { type ConfigSources, configsOf } from '../gateway.ts'
import { type EvaluateArguments, readEvaluateArguments } from './evaluate-arguments.ts'
import { evaluateProgress } from './evaluate-progress.ts'
import { tellWaiting } from '../parked-news.ts'
import { rewardOf } from '../reward-choice.ts'
import { tablesText } from '../output.ts'

const usage = `reward-gateway evaluate (--data FILE --reward NAME --output FILE | --suite FILE --output FOLDER) --policy URL...
                        [--config FILE | --function NAME [--options JSON]] [--reward-functions DIR] [--model NAME]
                        [--n N] [--runs N] [--k N] [--temperature T] [--top-p P] [--top-k N] [--min-p P]
                        [--max-tokens N] [--stop TEXT]... [--keep-stop] [--seed N|none] [--chat] [--limit N] [--shuffle-seed N]
                        [--solved-at N] [--resume | --failed-only] [--backend openai|vllm|sglang]
                        [--concurrency N] [--timeout-s N] [--wait-s N] [--api-key-env NAME] [--format text|json]

Lets a policy answer the rows of a data set, N times each in each run, and scores the answers with a reward. OUTPUT is a
scored file (.jsonl, .gz, .parquet) for analyze, diff and compare; beside it lie OUTPUT's .successes.jsonl and
.failures.jsonl. An answer that the policy did not give is invalid, never 0.

--policy       the address of an OpenAI-compatible server; several share the load. --model: what they serve, if not one
--resume       goes on with an evaluation that was stopped or killed; no answer is sampled twice
--failed-only  goes over a finished OUTPUT: samples and scores again what has no reward
--stop         ends an answer; --keep-stop leaves it in the text (vLLM and SGLang), as a reward that reads tags needs
--chat         sends a plain prompt as a user's message; messages are sent as a chat in any case
--concurrency  answers under way at one server (default 64); --timeout-s: for one answer (600); --wait-s: for a server
               that lives, where none does (30)
--solved-at    a reward of so much is a success (default 1); --k: the k of pass@k and maj@k (default N)
--seed         makes the draws repeatable (default 0); none: the servers draw as they like`

/** Exit code 1 where it was asked to end; what is there can be gone on with. */
export const command: Command = {
  summary: 'lets a policy answer data sets and scores its answers',
  usage,
  async run(argv, io) {
    const given = readEvaluateArguments(argv, usage)
    const suite = given.suite === undefined ? null : readSuite(given.suite, io.env)
    const news = tellWaiting(io, systemClock)
    const gateway = await openObservedGateway({
      ...sourcesOf(given, suite),
      functionFolders: given['reward-functions'],
      env: io.env,
      events: { models: { parked: news.parked } },
    })
    try {
      const benchmarks = suite
        ? suite
            .benchmarks(gateway, given.over)
            .map((one) => ({ one, output: join(given.output, `${one.name}.jsonl`) }))
        : [{ one: single(gateway, given), output: given.output }]
      const policy = await openPolicy({
        urls: given.policy,
        model: given.model ?? null,
        backend: given.backend,
        concurrency: given.concurrency,
        timeoutS: given.timeoutS,
        waitS: given.waitS,
        ...(given['api-key-env'] !== undefined && { apiKeyEnv: given['api-key-env'] }),
        env: io.env,
      })
      try {
        if (suite) await mkdir(given.output, { recursive: true })
        for (const { one, output } of benchmarks) {
          if (!(await evaluated({ gateway, policy, one, output, given }, io))) return 1
        }
      } finally {
        await policy.close()
      }
      await tell(benchmarks, given.format, io)
      return 0
    } finally {
      news.end()
      await gateway.close(0)
    }
  },
}

/** A suite of functions alone needs no configs, nor the models that they name. */
function sourcesOf(given: EvaluateArguments, suite: Suite | null): ConfigSources {
  const config = given.config ?? suite?.config ?? undefined
  if (!suite) return configsOf(given)
  const { configs } = suite.usesConfigs || config ? configsOf({ config }) : { configs: [] }
  return { configs, inline: suite.inline }
}

function single(
  gateway: Gateway,
  { data = '', function: name, reward: named, over }: EvaluateArguments,
): EvaluationSettings {
  const reward = rewardOf(gateway, name ?? named)
  const one = settled({ name: reward, place: 0, data, reward }, over)
  if (one.k <= one.n * one.runs) return one
  throw new GatewayError('RG_COMMAND_INVALID', `--k ${one.k}: a row gets ${one.n * one.runs} answers`)
}

/** The figures of all that was evaluated, on standard output. */
async function tell(
  benchmarks: readonly { readonly one: EvaluationSettings; readonly output: string }[],
  format: 'text' | 'json',
  io: Io,
): Promise<void> {
  const answers = await Promise.all(
    benchmarks.map(async ({ one, output }) => ({
      benchmark: one.name,
      prompts: await answeredPrompts(output, io.stdin),
    })),
  )
  const settingsOf = (name: string) => benchmarks.find(({ one }) => one.name === name)?.one
  const parts = compareAnswers([answers], {
    kOf: (name) => settingsOf(name)?.k ?? 1,
    solvedAtOf: (name) => settingsOf(name)?.solvedAt ?? 1,
    rounds: 2000,
    seed: 0,
  })
  io.stdout.write(
    format === 'json' ? `${JSON.stringify({ parts }, null, 2)}\n` : tablesText([evaluationTable(parts)]),
  )
  const invalid = parts.flatMap(({ source, policies }) => (source === null ? policies : []))
  if (invalid.some((policy) => policy.invalid > 0))
    io.stderr.write('some answers have no reward: --failed-only samples and scores them again\n')
}

interface Work {
  readonly gateway: Gateway
  readonly policy: Policy
  readonly one: EvaluationSettings
  readonly output: string
  readonly given: EvaluateArguments
}

/** False where the run was asked to end. */
async function evaluated({ gateway, policy, one, output, given }: Work, io: Io): Promise<boolean> {
  const events = evaluateProgress(io, one.name)
  const { resume, 'failed-only': failedOnly } = given
  const { stdin, signal } = io
  try {
    await evaluateFile({ ...one, gateway, policy, output, resume, failedOnly, stdin, signal, events })
    return true
  } catch (error) {
    if (!signal.aborted) throw error
    io.stderr.write(`stopped; what is there lies beside ${output}, and --resume goes on with it\n`)
    return false
  } finally {
    events.end()
  }
}
