import { z } from 'zod'
import { addressFault } from './address.ts'
import { decideWires } from './decide-wires.ts'

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
  /** Whether the text includes the stop string that ended it; vLLM and SGLang only. */
  include_stop_str_in_output: z.boolean().optional(),
  logprobs: z.int().min(0).max(20).optional(),
  thinking: z.boolean().optional(),
})

/** The protections between a sample and a judge. Each is on unless a model's config turns it off. */
export const guardConfig = z.strictObject({
  /** Puts values between lines with a nonce that their author cannot know. */
  fence: z.boolean().default(true),
  /** Breaks chat-template tokens and role markers in values. */
  tokens: z.boolean().default(true),
  /** Breaks text in values that looks like a judge's verdict. */
  verdicts: z.boolean().default(true),
  /** Makes zero-width, bidirectional, tag and control characters in values visible. */
  invisible: z.boolean().default(true),
  /** Scores answers without content at the low end of the range, without asking the judge. */
  refuse: z.boolean().default(true),
  /** Removes a judge's thinking before its verdict is read. */
  thoughts: z.boolean().default(true),
  /** Flags answers that repeat the prompt or contain the whole reference. */
  echoes: z.boolean().default(true),
})

/** Which protections of the guard are on. */
export type GuardConfig = Readonly<z.output<typeof guardConfig>>

/** Every protection off: a service parses JSON and reads no instructions. */
export const noGuard: GuardConfig = {
  fence: false,
  tokens: false,
  verdicts: false,
  invisible: false,
  refuse: false,
  thoughts: false,
  echoes: false,
}

/** Every protection on. */
export const fullGuard: GuardConfig = guardConfig.parse({})

/** A host as addresses name it: `images.example.org`, or with a port that is not the usual one. */
const imageHost = z.string().regex(/^[a-z0-9.-]+(:\d{1,5})?$|^\[[0-9a-f:.]+\](:\d{1,5})?$/, {
  error: 'expected a host in lower case, such as images.example.org or 10.0.0.7:8080, without scheme or path',
})

/** What a model takes of the images in samples. */
export const imageConfig = z.strictObject({
  /** Images in the question about one sample; 0: the model sees no images. */
  max_per_sample: z.int().min(0).max(1024).default(8),
  /** Size of an image's file. */
  max_bytes: z
    .int()
    .min(1)
    .max(256 * 1024 * 1024)
    .default(4 * 1024 * 1024),
  /** Width times height, as the image's header says. */
  max_pixels: z.int().min(1).max(1_000_000_000).default(16_777_216),
  /** Hosts of addresses that the model's servers may fetch, each exactly as addresses name it. By default no address is passed on. */
  hosts: z.array(imageHost).max(256).default([]),
  /** Whether `hedge` applies to questions with images. */
  hedge: z.boolean().default(false),
})

/** The limits of images for one model. */
export type ImageConfig = Readonly<z.output<typeof imageConfig>>

/** The limits of a model whose config says nothing. */
export const defaultImages: ImageConfig = imageConfig.parse({})

const count = (text: string, part: string): number => text.split(part).length - 1

/** A custom chat template. */
const writtenTemplate = z.strictObject({
  /** Before the first turn. */
  start: z.string().default(''),
  /** One turn, with the placeholders {role} and {content}. */
  turn: z.string().refine((text) => count(text, '{content}') === 1 && count(text, '{role}') <= 1, {
    message: 'needs the place {content} once, and {role} at most once',
  }),
  /** After the last turn. */
  end: z.string().default(''),
  /** Names of roles that the template calls differently. */
  roles: z.record(z.string(), z.string()).default({}),
})

/** A chat template, for servers whose reward models take plain text instead of conversations. */
export const chatTemplateConfig = z.union([z.enum(['chatml', 'llama3', 'gemma']), writtenTemplate])

/** The name of a template, or a custom template. */
export type ChatTemplateConfig = z.output<typeof chatTemplateConfig>

/** One server of a model: its address, or the address with its own weight and limits. */
export const instanceConfig = z.union([
  address,
  z.strictObject({
    url: address,
    /** Share of the load relative to the other instances: 2 gets twice as much as 1. */
    weight: z.number().positive().max(1000).default(1),
    max_in_flight: z.int().min(1).max(65_536).optional(),
    max_tokens_in_flight: z.int().min(1).optional(),
  }),
])

/** The kinds of model servers. */
export const modelBackends = ['vllm', 'sglang', 'openai'] as const

/** The kinds of servers; each has its file in `models/backends`. */
export const backendNames = [...modelBackends, 'service'] as const

export type BackendName = (typeof backendNames)[number]

/** A path as it is written into the request: no placeholders, no white space, no fragment. */
const path = z.string().regex(/^\/(?!\/)[\w.~%!$&'()*+,;=:@/?-]*$/, {
  error: "a path such as /verify; placeholders go into the request's body only",
})

/** One reward model: how it is asked, where it runs, and how failures are handled. */
export const modelConfig = z.strictObject({
  backend: z.enum(backendNames).default('vllm'),
  /** The model name that its servers serve. Every backend but `service` needs it. */
  model: z.string().min(1).default(''),
  /** For the backend `service`: any HTTP service that takes and answers JSON. */
  service: z
    .strictObject({
      /** Where requests are posted, after the path of the instance's address. */
      path,
      /** Where a GET without a key answers 200 while the service works; '': it is not probed, and that it hangs is not noticed. */
      health: path.or(z.literal('')).default(''),
      /**
       * The same request again has the same result and no other effect. Failed requests are then repeated, and answers are
       * cached. `false`: only what a service cannot have received, or refused with 429 or 503, is sent again.
       */
      idempotent: z.boolean().default(false),
    })
    .optional(),
  /** Part of the cache key. Change it when other weights are served under the same name. */
  revision: z.string().default(''),
  /** Other names that a reply may give as its model, such as the first of several served names. */
  served_model_aliases: z.array(z.string()).default([]),
  instances: z.array(instanceConfig).default([]),
  /** Patterns of addresses that may be added while running; `*` matches any text without a dot, colon or slash. */
  allow: z.array(z.string().min(1)).default([]),
  /** A file of addresses within `allow`, one per line or as a JSON list. Read again when it changes. */
  instances_file: z.string().min(1).optional(),
  /** Name of the environment variable that holds the servers' API key. */
  api_key_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
    .optional(),
  sampling: samplingConfig.default({}),
  /** The chat template for SGLang's reward models, which take plain text instead of conversations. */
  chat_template: chatTemplateConfig.optional(),
  /** How a scalar reward model is asked. */
  classify: z
    .strictObject({
      /** `score` compares the last two messages of a conversation, as cross encoders do. */
      endpoint: z.enum(['classify', 'pooling', 'score']).default('classify'),
      /** Whether the server applies sigmoid or softmax to the score. */
      activation: z.boolean().default(false),
      /** Index of the class whose number is the score, from the end if negative. Required if there are several classes. */
      label: z.int().optional(),
    })
    .prefault({}),
  /** How a model is asked for the probability of labels. */
  choose: z
    .strictObject({
      /** `generative_scoring`: vLLM's endpoint. Each label must be one token, however unlikely, and costs one call. */
      endpoint: z.enum(['logprobs', 'generative_scoring']).default('logprobs'),
    })
    .prefault({}),
  /** How a decision model is asked. */
  decide: z
    .strictObject({
      /** The API: vLLM's or SGLang's /v1/decisions, /v1/systemone, OpenAI's /v1/decisions, or `choose`, for any other server. */
      wire: z.enum(decideWires).default('choose'),
      /**
       * The least probability that the answers of a question must have together: below it, the model was about to say
       * something else. Default: 0.5 where the server tells it. If it is set, a reply that does not tell it is unreadable.
       */
      min_mass: fraction.optional(),
    })
    .prefault({}),
  /** How a process reward model is asked. */
  rewards: z
    .strictObject({
      /** The pooling task, if the server needs it. */
      task: z.string().min(1).optional(),
      activation: z.boolean().optional(),
      /** Index of the reward among each step's numbers. */
      column: z.int().default(-1),
      /**
       * What the server returns numbers for: `steps`, as vLLM does for Qwen2.5-Math-PRM, or `tokens`, as it does for Skywork's
       * models. Those are sent as token ids (vLLM only), and their numbers go through a sigmoid unless `activation` is set.
       */
      returns: z.enum(['steps', 'tokens']).default('steps'),
      /** For `returns: tokens`. `embeddings`: vLLM before 0.7. */
      endpoint: z.enum(['pooling', 'embeddings']).default('pooling'),
      /** For `returns: tokens`: the mark after each step of a question, one token of the model's. */
      mark: z.string().min(1).default('<|fim_pad|>'),
      /** For `returns: tokens`: the token that the model gets in place of the mark. */
      step_token: z.string().min(1).default('\n'),
    })
    .prefault({}),
  /** Questions in flight at one instance. Each question of a batch counts. */
  max_in_flight: z.int().min(1).max(65_536).default(256),
  /**
   * Estimated tokens in flight at one instance: a quarter of each question's bytes, plus `max_tokens` if it is set. A larger
   * question runs alone. Unlimited by default.
   */
  max_tokens_in_flight: z.int().min(1).optional(),
  /** Questions that may wait for an instance; more are refused as `overloaded`. */
  max_queue: z.int().min(0).max(1_000_000).default(65_536),
  /** Requests whose questions would wait longer are refused with 429. By default, only those that would miss their deadline. */
  max_queue_wait_s: seconds.optional(),
  /** Time limit of one call. */
  timeout_s: seconds.default(120),
  connect_timeout_s: seconds.default(5),
  /** How long a question waits if no instance can be asked: until its request's deadline, or this many seconds. */
  wait_for_instance: z
    .union([z.literal('deadline'), z.number().min(0).max(86_400)], {
      error: "'deadline', or a number of seconds up to 86400",
    })
    .default('deadline'),
  /** A longer reply fails the call. */
  max_reply_bytes: z
    .int()
    .min(1024)
    .default(8 * 1024 * 1024),
  retry: z
    .strictObject({
      /** Retries per question. */
      max: z.int().min(0).max(10).default(2),
      /** Retries as a share of first calls, after a credit for the first wave of failures. */
      budget: fraction.default(0.2),
      /** Pause before a retry at the same instance. Doubles each time, with jitter. */
      pause_ms: z.number().min(0).max(60_000).default(200),
    })
    .prefault({}),
  breaker: z
    .strictObject({
      /** Consecutive failures that open the circuit breaker. */
      failures: z.int().min(1).default(5),
      /** Time until one question tries the instance again. Doubles each time, up to 60 s. */
      open_s: seconds.default(5),
    })
    .prefault({}),
  health: z
    .strictObject({
      /** Time between probes of one instance; 0 turns probes off. */
      interval_s: z.number().min(0).max(3600).default(10),
      timeout_s: seconds.default(5),
      /**
       * An instance with calls in flight that finishes none for this long is asked for one token. If it neither answers nor
       * generates tokens, its calls move elsewhere. 0 turns this off.
       */
      stalled_after_s: z.number().min(0).max(86_400).default(10),
      /** Whether to keep an instance's own queue short, if its metrics report one. */
      server_line: z.boolean().default(true),
      /** Consecutive failed probes that eject an instance. */
      failures: z.int().min(1).default(2),
      /** Whether a probe also checks the names of the served models. */
      model: z.boolean().default(true),
    })
    .prefault({}),
  /** Which instance gets a question: the least loaded one, or the one that has the prompt's prefix cached. */
  balance: z.enum(['least_outstanding', 'prefix_affinity', 'group_affinity']).default('least_outstanding'),
  /** A second call elsewhere if an answer is late. The first answer counts, and the other call is aborted. */
  hedge: z
    .strictObject({
      /** Second calls as a share of calls; 0 turns hedging off. */
      budget: z.number().min(0).max(0.5).default(0),
      /** An answer is late after this quantile of recent latencies. */
      quantile: z.number().min(0.5).max(0.999).default(0.95),
    })
    .prefault({}),
  /** Questions that share a request, if the server supports lists for the ask. */
  batch: z
    .strictObject({
      max_size: z.int().min(1).max(4096).default(32),
      /** How long a question waits for others while a request is in flight. If none is, it is sent at once. */
      max_wait_ms: z.number().min(0).max(10_000).default(2),
      /**
       * Also batches generated texts. Their reply then comes when the longest text is done. Conversations need vLLM 0.19 or later.
       * `auto`: only if prompt and answer are short.
       */
      generate: z.union([z.boolean(), z.literal('auto')]).default(false),
    })
    .prefault({}),
  /** The longest prompt in tokens; 0 leaves the limit to the server. */
  max_prompt_tokens: z.int().min(0).default(0),
  /** How tokens are counted: by the server, or estimated as a quarter of the bytes. */
  count_tokens: z.enum(['tokenize', 'estimate']).default('estimate'),
  /** Whether a longer prompt fails, or the middle of its response is removed. */
  on_long_prompt: z.enum(['fail', 'truncate_middle']).default('fail'),
  /** Models of one group are never awake together. */
  gpu_group: z.string().min(1).optional(),
  lifecycle: z
    .strictObject({
      /** The model goes to sleep after this long without a question; 0: never. */
      sleep_after_idle_s: z.number().min(0).default(0),
      /** 1 keeps the weights in host memory; 2 drops them and reloads them on waking. */
      level: z.union([z.literal(1), z.literal(2)]).default(1),
      /** Whether a question wakes a sleeping model. If not, it waits for an operator, or fails. */
      wake_on_demand: z.boolean().default(true),
      /** Time limit for one server to fall asleep or wake up. */
      timeout_s: seconds.default(120),
      /** How long a model keeps the GPU without a question while another model of its group waits. */
      linger_ms: z.number().min(0).max(60_000).default(250),
      /** A waiting model of the group gets its turn after this many seconds. */
      turn_s: seconds.default(60),
    })
    .optional(),
  /** Images in questions. What does not fit is `bad_sample`. */
  images: imageConfig.prefault({}),
  /** The guard between samples and this model. */
  guard: guardConfig.prefault({}),
  /** `auto` caches everything but text generated at a temperature above 0. */
  cache: z.enum(['auto', 'always', 'never']).default('auto'),
})

/** A model's config with defaults applied. */
export type ModelConfig = z.output<typeof modelConfig>
/** An address, or an address with its weight and limits. */
export type InstanceConfig = z.output<typeof instanceConfig>
