import type { Section } from './verl-settings.ts'

/** Dotted keys of `reward_model` that an rm-config carries. */
export const carriedKeys: ReadonlySet<string> = new Set([
  'enable',
  'combine_reward',
  'reward_model_type',
  'reward_function',
  'reward_weight',
  'reward_combine_func',
  'use_bge',
  'bge_weight',
  'model.path',
  'reward_vllm_rollout.temperature',
  'reward_vllm_rollout.top_p',
  'reward_vllm_rollout.top_k',
  'reward_vllm_rollout.rollout_response_length',
])

const reasons: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/tokenizer/, 'the gateway reads texts, not tokens'],
  [
    /gpu_memory|tensor_model_parallel|parallel|free_cache|offload|dtype|enforce_eager|load_format|swap/,
    "the model server's own setting",
  ],
  [
    /micro_batch|batch_size|max_length|forward|fsdp|param|strategy|ulysses|padding/,
    "the trainer's own engine is not used",
  ],
  [/timeout|num_workers|concurren|max_num/, 'see timeout_s, max_in_flight and batch in docs/models.md'],
]

/** `reward_model.<key>: why` for everything else that is set. */
export function droppedKeys(section: Section, carried: ReadonlySet<string>): readonly string[] {
  return leaves(section)
    .filter((key) => !carried.has(key))
    .map((key) => {
      const why = reasons.find(([pattern]) => pattern.test(key))?.[1] ?? 'an rm-config has nothing like it'
      return `reward_model.${key}: ${why}`
    })
}

function leaves(section: Section, above = ''): readonly string[] {
  return Object.entries(section).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? leaves(value as Section, `${above}${key}.`)
      : [`${above}${key}`],
  )
}
