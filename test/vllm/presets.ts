import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { parse } from 'yaml'
import { outcomesOf, resultOf, sampleOf, testGateway } from '../support/gateway.ts'

/** A server that has a model of the kind that some presets ask. */
export interface PresetServer {
  readonly url: string
  /** Its served name. */
  readonly model: string
}

/** The presets of docs/presets.md by the kind of model that they ask (make_tiny_model.py). */
const presets = {
  generate: ['qwen3guard', 'llama-guard', 'compass-verifier', 'prometheus', 'rm-r1'],
  classify: ['skywork-reward'],
  steps: ['qwen-math-prm'],
  tokens: ['qwen-math-rm'],
} as const

const page = readFileSync('docs/presets.md', 'utf8')

interface Config {
  readonly models: Readonly<Record<string, { readonly sampling?: object }>>
}

/** The preset's config on the page, with another server and a short answer. */
function configOf(name: string, { url, model }: PresetServer): object {
  const [, text = ''] = new RegExp(`^\`\`\`yaml ${name}\\.yaml\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? []
  const { models, ...rest } = parse(text) as Config
  const asked = Object.entries(models).map(([key, given]) => {
    const sampling = given.sampling && { sampling: { temperature: 0, max_tokens: 64 } }
    return [key, { ...given, model, instances: [url], ...sampling }]
  })
  return { models: Object.fromEntries(asked), ...rest }
}

const rubric = [{ text: 'States the sum.' }, { text: 'How clear?', levels: ['bad', 'fair', 'good'] }]

/**
 * What a server takes of the presets, and what it answers. Its weights are random: a text of theirs holds a verdict by chance only,
 * and else is a failure by name. Numbers are always read.
 */
export async function askPresets(t: Test, kind: keyof typeof presets, server: PresetServer): Promise<void> {
  const rewards = Object.fromEntries(presets[kind].map((name) => [name, configOf(name, server)]))
  const gateway = await testGateway(t, rewards)
  const groups = [1, 2].map((at) =>
    sampleOf(`There are ${at}.\n\nSo it is 4.\n\nThe answer is \\boxed{4}.`, {
      prompt: 'What is 2 + 2?',
      groundTruth: '4',
      group: { id: 'g', index: at - 1 },
    }),
  )
  for (const name of presets[kind])
    for (const outcome of await outcomesOf(gateway, name, groups)) {
      const result = resultOf(outcome)
      const isRead = typeof result === 'number' && Number.isFinite(result)
      const isUnread = result === 'judge_truncated' || result === 'judge_unparseable'
      t.ok(isRead || (kind === 'generate' && isUnread), `${name}: ${result}`)
    }
  if (kind === 'generate') await askRubric(t, server)
}

/** A judge that may reply with the words of a criterion only always has a verdict. */
async function askRubric(t: Test, { url, model }: PresetServer): Promise<void> {
  const models = { judge: { model, instances: [url] } }
  const of = (name: string, options = {}) => ({
    models,
    steps: [{ name: 's', function: name, model: 'judge', options }],
  })
  const gateway = await testGateway(t, {
    each: of('rubric-judge'),
    all: of('rubric-judge', { ask: 'all' }),
    overall: of('rubric-judge', { ask: 'overall' }),
    decided: of('rubric-decisions'),
  })
  const ask = async (reward: string) =>
    resultOf((await outcomesOf(gateway, reward, [sampleOf('It is 4.', { groundTruth: rubric })]))[0])
  for (const reward of ['each', 'overall']) t.type(await ask(reward), 'number', reward)
  for (const reward of ['all', 'decided']) {
    const result = await ask(reward)
    t.ok(
      typeof result === 'number' || /^judge_(truncated|unparseable)$/.test(String(result)),
      `${reward}: ${result}`,
    )
  }
}
