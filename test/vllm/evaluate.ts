import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { runCommand } from '../support/command-line.ts'

const rows = 50

/** `reward-gateway evaluate` against a vLLM that writes random text: every row gets its answers and a reward. */
export async function evaluateVllm(t: Test, urls: readonly string[]): Promise<void> {
  const folder = t.testdir()
  const [data, output] = [join(folder, 'data.jsonl'), join(folder, 'out.jsonl')]
  const lines = Array.from({ length: rows }, (_, i) => {
    const question = i === 7 ? `${'too long '.repeat(3000)}?` : `What is ${i} + ${i}?`
    return JSON.stringify({
      data_source: i % 2 === 0 ? 'plain' : 'chat',
      prompt: i % 2 === 0 ? question : [{ role: 'user', content: question }],
      reward_model: { ground_truth: `${2 * i}` },
    })
  })
  writeFileSync(data, lines.join('\n'))
  const policy = urls.flatMap((url) => ['--policy', url])
  const ran = await runCommand([
    ...['evaluate', '--function', 'gsm8k-stock', '--data', data, '--output', output, ...policy],
    ...['--n', '2', '--max-tokens', '32', '--seed', '5', '--concurrency', '16'],
  ])
  t.match(ran, { code: 0, stdout: /pass@2/ })
  const results = readFileSync(output, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.equal(results.length, 2 * rows)
  for (const { reward, valid, failure, sample } of results) {
    if (sample.row === 7) t.match(failure, { kind: 'policy_failed', detail: /window/ })
    else t.ok(valid && reward === 0 && sample.response_tokens >= 1 && sample.response_tokens <= 32)
  }
  t.comment(ran.stdout)
}
