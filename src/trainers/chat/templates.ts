/** How a family of models renders a conversation. */
export interface ChatTemplate {
  readonly name: string
  /** The texts that open a turn, with its role. A template that puts the system prompt into the user's turn has none for it. */
  readonly opens: readonly (readonly [text: string, role: string])[]
  /** The texts that close a turn, including the end of generation. */
  readonly closes: readonly string[]
  /** Stands between an opening text and the content and belongs to neither. */
  readonly gap?: string
  /** Whether a system prompt stands unmarked before the first turn. */
  readonly bareSystem?: true
}

const framed = (before: string, after: string, names: Readonly<Record<string, string>>) =>
  Object.entries(names).map(([role, name]) => [`${before}${name}${after}`, role] as const)

const roles = { user: 'user', assistant: 'assistant', system: 'system', tool: 'tool' }

/** One per family: Qwen, Yi and InternLM use `chatml`; GLM, Phi, Zephyr, OLMo and StarChat use `bars`. */
export const chatTemplates: readonly ChatTemplate[] = [
  { name: 'chatml', opens: framed('<|im_start|>', '\n', roles), closes: ['<|im_end|>'] },
  { name: 'phi4', opens: framed('<|im_start|>', '<|im_sep|>', roles), closes: ['<|im_end|>'] },
  {
    name: 'llama3',
    opens: framed('<|start_header_id|>', '<|end_header_id|>\n\n', { ...roles, tool: 'ipython' }),
    closes: ['<|eot_id|>', '<|eom_id|>', '<|end_of_text|>'],
  },
  {
    name: 'llama4',
    opens: framed('<|header_start|>', '<|header_end|>\n\n', { ...roles, tool: 'ipython' }),
    closes: ['<|eot|>', '<|eom|>', '<|end_of_text|>'],
  },
  {
    name: 'gemma',
    opens: framed('<start_of_turn>', '\n', { user: 'user', assistant: 'model', tool: 'tool' }),
    closes: ['<end_of_turn>', '<eos>'],
  },
  {
    name: 'gemma4',
    opens: framed('<|turn>', '\n', { ...roles, assistant: 'model' }),
    closes: ['<turn|>', '<eos>'],
  },
  {
    name: 'bars',
    opens: framed('<|', '|>', { ...roles, tool: 'observation' }),
    closes: [
      '<|end|>',
      '<|endofuser|>',
      '<|endofassistant|>',
      '<|endofsystem|>',
      '</s>',
      '<|user|>',
      '<|observation|>',
    ],
    gap: '\n',
    bareSystem: true,
  },
  {
    name: 'deepseek3',
    opens: framed('<｜', '｜>', { user: 'User', assistant: 'Assistant' }),
    closes: ['<｜end▁of▁sentence｜>'],
    bareSystem: true,
  },
  {
    name: 'hunyuan',
    opens: framed('<｜hy_', '｜>', { user: 'User', assistant: 'Assistant' }),
    closes: ['<｜hy_eos｜>', '<｜hy_place▁holder▁no▁2｜>'],
    bareSystem: true,
  },
  {
    name: 'youtu',
    opens: framed('<|', '|>', { user: 'User', assistant: 'Assistant' }),
    closes: ['<|end_of_text|>'],
    bareSystem: true,
  },
  {
    name: 'cohere',
    opens: framed('<|START_OF_TURN_TOKEN|><|', '_TOKEN|>', {
      user: 'USER',
      assistant: 'CHATBOT',
      system: 'SYSTEM',
    }),
    closes: ['<|END_OF_TURN_TOKEN|>'],
  },
  {
    name: 'granite',
    opens: framed('<|start_of_role|>', '<|end_of_role|>', roles),
    closes: ['<|end_of_text|>'],
  },
  {
    name: 'gpt-oss',
    opens: [
      ['<|start|>assistant', 'assistant'],
      ...framed('<|start|>', '<|message|>', { user: 'user', system: 'system', developer: 'developer' }),
    ],
    closes: ['<|end|>', '<|return|>'],
  },
  {
    name: 'kimi',
    opens: ['user', 'assistant', 'system'].map(
      (role) => [`<|im_${role}|>${role}<|im_middle|>`, role] as const,
    ),
    closes: ['<|im_end|>'],
  },
  {
    name: 'exaone',
    opens: framed('[|', '|]', { user: 'user', assistant: 'assistant', system: 'system' }),
    closes: ['[|endofturn|]'],
  },
  {
    name: 'ling',
    opens: framed('<role>', '</role>', {
      user: 'HUMAN',
      assistant: 'ASSISTANT',
      system: 'SYSTEM',
      tool: 'OBSERVATION',
    }),
    closes: ['<|role_end|>'],
  },
  {
    name: 'minimax',
    opens: [
      ['<beginning_of_sentence>user name=user\n', 'user'],
      ['<beginning_of_sentence>ai name=assistant\n', 'assistant'],
      ['<beginning_of_sentence>system ai_setting=assistant\n', 'system'],
    ],
    closes: ['<end_of_sentence>'],
  },
  { name: 'seed', opens: framed('<seed:bos>', '\n', roles), closes: ['<seed:eos>'] },
  {
    name: 'telechat',
    opens: framed('<_', '>', { user: 'user', assistant: 'bot', system: 'system' }),
    closes: ['<_end>'],
  },
  {
    name: 'mistral',
    opens: [
      ['[INST]', 'user'],
      ['[/INST]', 'assistant'],
      ['[SYSTEM_PROMPT]', 'system'],
    ],
    closes: ['[/SYSTEM_PROMPT]', '</s>'],
    gap: ' ',
  },
  {
    name: 'deepseek',
    opens: [
      ['User: ', 'user'],
      ['\n\nAssistant:', 'assistant'],
    ],
    closes: ['<｜end▁of▁sentence｜>'],
    gap: ' ',
  },
  {
    name: 'vicuna',
    opens: [
      ['A chat between a curious user and an artificial intelligence assistant.', 'system'],
      ['USER: ', 'user'],
      [' ASSISTANT:', 'assistant'],
    ],
    closes: ['</s>'],
    gap: ' ',
  },
  {
    name: 'alpaca',
    opens: [
      ['Below is an instruction that describes a task.', 'system'],
      ['### Instruction:\n', 'user'],
      ['### Response:', 'assistant'],
    ],
    closes: ['</s>'],
    gap: '\n',
  },
]

export const templateNames = chatTemplates.map(({ name }) => name)

/** The tokens with which tokenizers start a conversation or pad a batch. */
export const fillers: readonly string[] = [
  '<s>',
  '<bos>',
  '<pad>',
  '[PAD]',
  '<unk>',
  '[gMASK]',
  '<sop>',
  '<|begin_of_text|>',
  '<|startoftext|>',
  '<|finetune_right_pad_id|>',
  '<|finetune_right_pad|>',
  '<|endoftext|>',
  '<|pad|>',
  '<|padding|>',
  '<seed:pad>',
  '<_pad>',
  '<PAD>',
  '<BOS_TOKEN>',
  '<EOS_TOKEN>',
  '<｜begin▁of▁sentence｜>',
  '<｜end▁of▁sentence｜>',
  '<｜▁pad▁｜>',
  '<|EOT|>',
  '</s>',
  '<eos>',
]
