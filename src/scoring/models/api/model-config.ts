import { z } from 'zod'
import { addressFault } from './address.ts'

const seconds = z.number().positive().max(86_400)
const fraction = z.number().min(0).max(1)
const address = z
  .url({ protocol: /^https?$/, error: ({ input }) => addressFault(String(input)) ?? '' })
  .superRefine((text, context) => {
    const message = addressFault(text)
    if (message !== null) context.addIssue({ code: 'custom', message })
  })

/** Sampling settings by their OpenAI / vLLM names; a step's are laid over its model's. */
export const samplingConfig = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().gt(0).max(1).optional(),
  top_k: z.int().min(-1).optional(),
  min_p: fraction.optional(),
  max_tokens: z.int().min(1).optional(),
  seed: z.int().optional(),
  stop: z.array(z.string().min(1)).max(16).optional(),
  /** Whether the text keeps the stop that ended it; vLLM and SGLang only. */
  include_stop_str_in_output: z.boolean().optional(),
  logprobs: z.int().min(0).max(20).optional(),
  thinking: z.boolean().optional(),
})

/** The parts of the guard between a sample and a judge; each is on unless a model's config says otherwise. */
export const guardConfig = z.strictObject({
  /** Values stand between lines with a nonce that their author cannot know. */
  fence: z.boolean().default(true),
  /** Tokens of chat templates and role marks in a value are broken. */
  tokens: z.boolean().default(true),
  /** Texts in a value that look like a judge's verdict are broken. */
  verdicts: z.boolean().default(true),
  /** Zero-width, bidirectional, tag and control characters in a value are made visible. */
  invisible: z.boolean().default(true),
  /** Answers of no content get the low end of the range without a question. */
  refuse: z.boolean().default(true),
  /** A judge's thoughts are cut before its verdict is read. */
  thoughts: z.boolean().default(true),
  /** Answers that repeat the prompt or hold the whole reference are flagged. */
  echoes: z.boolean().default(true),
})

/** Which parts of the guard are on. */
export type GuardConfig = Readonly<z.output<typeof guardConfig>>

/** Every part on. */
export const fullGuard: GuardConfig = guardConfig.parse({})

const count = (text: string, part: string): number => text.split(part).length - 1

/** How a conversation is written, turn by turn. */
export const writtenTemplate = z.strictObject({
  /** Before the first turn. */
  start: z.string().default(''),
  /** One turn, with the places {role} and {content}. */
  turn: z.string().refine((text) => count(text, '{content}') === 1 && count(text, '{role}') <= 1, {
    message: 'needs the place {content} once, and {role} at most once',
  }),
  /** After the last turn. */
  end: z.string().default(''),
  /** What roles are called, where it is not their name. */
  roles: z.record(z.string(), z.string()).default({}),
})

/** How a conversation is written as one text, for servers whose reward models take no conversation. */
export const chatTemplateConfig = z.union([z.enum(['chatml', 'llama3', 'gemma']), writtenTemplate])

/** A template's name, or its texts. */
export type ChatTemplateConfig = z.output<typeof chatTemplateConfig>

/** One server of a model: its address, or the address with a share of the load and limits of its own. */
export const instanceConfig = z.union([
  address,
  z.strictObject({
    url: address,
    /** Share of the load beside the other instances: 2 gets twice as much as 1. */
    weight: z.number().positive().max(1000).default(1),
    max_in_flight: z.int().min(1).max(65_536).optional(),
    max_tokens_in_flight: z.int().min(1).optional(),
  }),
])

/** One reward model: how it is asked, where it runs, and what is done when that fails. */
export const modelConfig = z.strictObject({
  backend: z.enum(['vllm', 'sglang', 'openai']).default('vllm'),
  /** The name that its servers serve. */
  model: z.string().min(1),
  /** Part of the cache key: change it when other weights are served under the same name. */
  revision: z.string().default(''),
  /** Names beside `model` that a reply may give as its model (the first of several served names, say). */
  served_model_aliases: z.array(z.string()).default([]),
  instances: z.array(instanceConfig).default([]),
  /** Patterns (`*` is any text without a dot, colon or slash) of the addresses that may be added while running. */
  allow: z.array(z.string().min(1)).default([]),
  /** A file of addresses, one a line or as a JSON list, read again when it changes; within `allow`. */
  instances_file: z.string().min(1).optional(),
  /** Name of the environment variable that holds the servers' API key. */
  api_key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .optional(),
  sampling: samplingConfig.default({}),
  /** How a conversation is written as one text, where the server's reward models take no conversation: SGLang's. */
  chat_template: chatTemplateConfig.optional(),
  /** How a scalar reward model is asked. */
  classify: z
    .strictObject({
      /** `score` compares the last two messages of a conversation, as cross encoders do. */
      endpoint: z.enum(['classify', 'pooling', 'score']).default('classify'),
      /** Whether the server lays its sigmoid or softmax over the score. */
      activation: z.boolean().default(false),
      /** The class whose number is the score, counted from 0 (from the end if negative); needed if there are several. */
      label: z.int().optional(),
    })
    .prefault({}),
  /** How a model is asked for the probability of labels. */
  choose: z
    .strictObject({
      /** `generative_scoring`: vLLM's endpoint; every label is one token, however unlikely, and costs one call. */
      endpoint: z.enum(['logprobs', 'generative_scoring']).default('logprobs'),
    })
    .prefault({}),
  /** How a process reward model is asked. */
  rewards: z
    .strictObject({
      /** The pooling task, where the server needs it named. */
      task: z.string().min(1).optional(),
      activation: z.boolean().optional(),
      /** The column of each step's numbers that is its reward. */
      column: z.int().default(-1),
    })
    .prefault({}),
  /** Questions under way at one instance, however many share a request. */
  max_in_flight: z.int().min(1).max(65_536).default(256),
  /**
   * Tokens of these: of each a quarter of its bytes, and `max_tokens` where it is set. One that is larger goes alone. Absent:
   * they are not counted.
   */
  max_tokens_in_flight: z.int().min(1).optional(),
  /** Questions waiting for an instance; more are refused as `overloaded`. */
  max_queue: z.int().min(0).max(1_000_000).default(65_536),
  /** A request whose questions would wait longer in line is refused with 429; absent: only one whose answers would be late is. */
  max_queue_wait_s: seconds.optional(),
  /** One call's time at one instance. */
  timeout_s: seconds.default(120),
  connect_timeout_s: seconds.default(5),
  /** How long a question waits where no instance can be asked: as long as its request's deadline allows, or so many seconds. */
  wait_for_instance: z
    .union([z.literal('deadline'), z.number().min(0).max(86_400)], {
      error: "'deadline', or a number of seconds up to 86400",
    })
    .default('deadline'),
  /** A longer reply ends the call. */
  max_reply_bytes: z
    .int()
    .min(1024)
    .default(8 * 1024 * 1024),
  retry: z
    .strictObject({
      /** Further calls for one question. */
      max: z.int().min(0).max(10).default(2),
      /** Further calls, as a share of first calls, once the first wave of failures is paid. */
      budget: fraction.default(0.2),
      /** Before a retry at the same instance; doubles each time, with jitter. */
      pause_ms: z.number().min(0).max(60_000).default(200),
    })
    .prefault({}),
  breaker: z
    .strictObject({
      /** Failures in a row that open it. */
      failures: z.int().min(1).default(5),
      /** Before one question tries the instance again; doubles each time up to 60 s. */
      open_s: seconds.default(5),
    })
    .prefault({}),
  health: z
    .strictObject({
      /** Between probes of one instance; 0: no probes. */
      interval_s: z.number().min(0).max(3600).default(10),
      timeout_s: seconds.default(5),
      /**
       * An instance with calls open that finishes none for so long is asked for one token; if it neither answers nor counts tokens,
       * its calls go elsewhere. 0: never.
       */
      stalled_after_s: z.number().min(0).max(86_400).default(10),
      /** Whether an instance whose own metrics tell of a line gets no more than it works on, and a little. */
      server_line: z.boolean().default(true),
      /** Failed probes in a row that eject an instance. */
      failures: z.int().min(1).default(2),
      /** Whether a probe also asks for the names of the served models. */
      model: z.boolean().default(true),
    })
    .prefault({}),
  /** Which instance a question goes to: the least loaded, or the one that has its prompt's beginning in its cache. */
  balance: z.enum(['least_outstanding', 'prefix_affinity', 'group_affinity']).default('least_outstanding'),
  /** A second call elsewhere for an answer that is late; the first to come is taken, the other is ended. */
  hedge: z
    .strictObject({
      /** Second calls, as a share of calls; 0: none. */
      budget: z.number().min(0).max(0.5).default(0),
      /** Late is later than this share of the latest answers. */
      quantile: z.number().min(0.5).max(0.999).default(0.95),
    })
    .prefault({}),
  /** Questions that share a request, where server and ask know lists. */
  batch: z
    .strictObject({
      max_size: z.int().min(1).max(4096).default(32),
      /** How long a question waits for others while a request is under way; where none is, it goes at once. */
      max_wait_ms: z.number().min(0).max(10_000).default(2),
      /**
       * Generated texts too: a reply then comes when its longest text is done. Conversations need vLLM 0.19 or later. `auto`: only
       * where prompt and answer are short.
       */
      generate: z.union([z.boolean(), z.literal('auto')]).default(false),
    })
    .prefault({}),
  /** Longest prompt in tokens; 0: whatever the server takes. */
  max_prompt_tokens: z.int().min(0).default(0),
  /** How tokens are counted: asked of the server, or estimated as a quarter of the bytes. */
  count_tokens: z.enum(['tokenize', 'estimate']).default('estimate'),
  /** What a longer prompt is: a failure, or one whose response loses its middle. */
  on_long_prompt: z.enum(['fail', 'truncate_middle']).default('fail'),
  /** Models of one group are never awake together. */
  gpu_group: z.string().min(1).optional(),
  lifecycle: z
    .strictObject({
      /** Without a question for so long, a model goes to sleep; 0: never. */
      sleep_after_idle_s: z.number().min(0).default(0),
      /** 1 keeps the weights in the host's memory; 2 drops them and reads them again. */
      level: z.union([z.literal(1), z.literal(2)]).default(1),
      /** Whether a question wakes a sleeping model; else it fails. */
      wake_on_demand: z.boolean().default(true),
      /** Time for one server to fall asleep or wake up. */
      timeout_s: seconds.default(120),
      /** How long a model of a group keeps the GPU without a question while another waits for it. */
      linger_ms: z.number().min(0).max(60_000).default(250),
      /** After so long a wait of another model of the group, it gets no further questions until the other had its turn. */
      turn_s: seconds.default(60),
    })
    .optional(),
  /** What stands between samples and this model. */
  guard: guardConfig.prefault({}),
  /** `auto`: answers at temperature 0 are kept; `always`; `never`. */
  cache: z.enum(['auto', 'always', 'never']).default('auto'),
})

/** A model's config with its defaults filled in. */
export type ModelConfig = z.output<typeof modelConfig>
/** An address, or an address with its share of the load. */
export type InstanceConfig = z.output<typeof instanceConfig>
