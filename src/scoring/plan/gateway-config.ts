import { z } from 'zod'
import type { TrainerFormat } from '../../trainers/format.ts'
import { trainerFormats } from '../../trainers/index.ts'
import { modelConfig } from '../models/interface/model-config.ts'
import { sandboxConfig } from '../sandboxes/sandbox-config.ts'
import { globalName, rewardConfig, trainerOnInvalid } from './reward-config.ts'

const seconds = z.number().positive().max(86_400)
const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "the name of an environment variable, without '$'")
const mebi = 1024 * 1024
const hostPattern = z.string().regex(/^(?:\*|(?:\*\.)?[\w-]+(?:\.[\w-]+)*)$/, {
  error: "a host name without scheme and port, '*.' and one, or '*'",
})

/** What a key allows. `score`: score samples and ask models. `read`: configs and metrics. `admin`: everything. */
export const scopes = ['score', 'read', 'admin'] as const
/** One of them. */
export type Scope = (typeof scopes)[number]

const keyConfig = z
  .strictObject({
    /** The environment variable that holds the key, or several keys separated by white space. */
    env: variable.optional(),
    /** The file that holds it, relative to this file. */
    file: z.string().min(1).optional(),
    scopes: z.array(z.enum(scopes)).min(1).default(['score', 'read']),
    /** Maximum concurrent requests that score or ask models; more are refused with 429. */
    max_in_flight: z.int().min(1).optional(),
    /** Maximum concurrent samples. A request that is alone may have more. */
    max_samples: z.int().min(1).optional(),
    /** Rollouts of the queue without a final; more are refused with 429. */
    max_rollouts: z.int().min(1).optional(),
    /** Requests per second, with a burst of one second's worth. */
    rate_per_s: z.number().positive().max(1_000_000).optional(),
  })
  .refine(({ env, file }) => (env === undefined) !== (file === undefined), {
    error: 'give one of env and file, where the key is kept',
  })

/** Where a key is kept and what it allows. */
export type KeyConfig = z.output<typeof keyConfig>

const settings = {
  /** Should be below the trainer's own timeout. Default: that of the trainer's format. */
  deadline_s: z.number().positive().max(86_400).optional(),
  /** Overrides the reward's `on_invalid`. */
  on_invalid: trainerOnInvalid.optional(),
  /** JSON lines with the ground truth of each prompt, for trainers that send none; relative to this file. */
  ground_truth_file: z.string().min(1).optional(),
}

/** A format that can express 'invalid' takes no number for it, and one that sends its ground truths takes no file. */
function settingsOf({ routes, looksUp }: TrainerFormat): z.ZodOptional<z.ZodObject<typeof settings>> {
  const { deadline_s, on_invalid, ground_truth_file } = settings
  const alwaysMarks = Object.values(routes).every(({ invalid }) => invalid === 'marked')
  const taken = { deadline_s, ...(!alwaysMarks && { on_invalid }), ...(looksUp && { ground_truth_file }) }
  return z.strictObject(taken as typeof settings).optional()
}

/** Settings of the trainers' own formats, by the trainer's name. */
const trainersConfig: z.ZodObject<Record<string, ReturnType<typeof settingsOf>>> = z.strictObject(
  Object.fromEntries(trainerFormats.map((trainer) => [trainer.name, settingsOf(trainer)])),
)

/** A sample and the known bounds of its score. */
const knownSample = z.strictObject({
  /** For logs and metrics. */
  name: z.string().min(1).max(64),
  prompt: z.string().default(''),
  response: z.string(),
  ground_truth: z.unknown().optional(),
  rm_prompt: z.string().optional(),
  extra_info: z.record(z.string(), z.unknown()).default({}),
  /** Bounds of the score, inclusive. */
  min: z.number().optional(),
  max: z.number().optional(),
})

const probe = knownSample.refine(
  ({ min, max }) => min !== undefined || max !== undefined,
  'a probe needs min or max',
)

/** `canary:` of gateway.yaml. */
const canaryConfig = z.strictObject({
  every_s: seconds.default(60),
  /** Timeout of one probe. */
  timeout_s: seconds.default(30),
  /** An instance is taken out after this many consecutive rounds with a wrong verdict. */
  wrong_rounds: z.int().min(1).max(100).default(2),
  /** It is also taken out if a larger share of its last 20 answers had no verdict. */
  max_unreadable: z.number().min(0).max(1).default(0.3),
  /** `false`: report failing instances but keep using them. */
  eject: z.boolean().default(true),
  /** Function name -> probes that replace the shipped ones. */
  probes: z.record(z.string(), z.array(probe).max(64)).default({}),
})

/** A sample with known bounds of its score, with defaults. */
export type KnownSample = z.output<typeof knownSample>

/** `reload:` of gateway.yaml: samples that new configs must score correctly before they are served. */
const reloadConfig = z.strictObject({
  /** Reward name -> samples, which are scored as one request. */
  samples: z.record(
    globalName,
    z
      .array(
        knownSample.extend({
          data_source: z.string().optional(),
          group_id: z.string().optional(),
        }),
      )
      .min(1)
      .max(1024),
  ),
  /** Maximum difference from the reward under the served configs; absent: only min and max count. */
  max_change: z.number().min(0).optional(),
  /** Timeout for all samples together. */
  timeout_s: z.number().positive().max(3600).default(60),
})

const bytes = z.int().min(64 * 1024)

/** `record:` of gateway.yaml. */
const recordConfig = z.strictObject({
  /** Relative to this file. */
  folder: z.string().min(1),
  /** How to record prompts, responses and judges' texts: whole, as hashes, or not at all. */
  text: z.enum(['full', 'hash', 'none']).default('hash'),
  /** Share of the groups that is recorded. */
  share: z.number().min(0).max(1).default(1),
  /** Compressed bytes. A file is closed when it reaches this size or age. */
  max_file_bytes: bytes.default(64 * mebi),
  max_file_age_s: z.number().positive().max(86_400).default(3600),
  /** Limit for all record files in the folder; the oldest are deleted. */
  max_total_bytes: bytes.default(4096 * mebi),
})

/** `queue:` of gateway.yaml: rollouts that are accepted on disk and scored later. */
const queueConfig = z.strictObject({
  /** Relative to this file; it belongs to one gateway. Read at startup only. */
  folder: z.string().min(1),
  /** Bytes on disk; what does not fit is refused with 429. */
  max_bytes: bytes.default(16 * 1024 * mebi),
  /** Rollouts without a final, of all runs; more are refused with 429. */
  max_rollouts: z.int().min(1).max(10_000_000).default(200_000),
  /** Questions to judges that the rollouts without a final are expected to ask; more rollouts are refused with 429. */
  max_questions: z.int().min(1).max(1_000_000_000).default(2_000_000),
  /** Runs that are kept at a time. */
  max_runs: z.int().min(1).max(10_000).default(256),
  /** Readers that wait at a time: open streams of server-sent events, and reads with `wait_s`. More are refused with 429. */
  max_readers: z.int().min(1).max(100_000).default(1024),
  /** Rollouts that are scored at a time. */
  max_running: z.int().min(1).max(1_000_000).default(2048),
  /** Time limit of a rollout that names none, from when it was accepted. */
  deadline_s: z
    .number()
    .positive()
    .max(7 * 86_400)
    .default(3600),
  /** How long finals can be read. Read at startup only. */
  keep_s: z
    .number()
    .positive()
    .max(30 * 86_400)
    .default(21_600),
  /** Finals that all runs keep; beyond, the oldest of the runs that keep most are removed. */
  keep_finals: z.int().min(1).max(10_000_000).default(2_000_000),
  /** The same for the bytes of finals on disk. Default: half of `max_bytes`. */
  keep_bytes: bytes.optional(),
  /** How long the first record waits for others before they are written together. Read at startup only. */
  commit_ms: z.number().min(0).max(1000).default(10),
})

/** The schema of gateway.yaml. */
export const gatewayConfig = z.strictObject({
  $schema: z.string().optional(),
  /** Global name -> reward model. */
  models: z.record(globalName, modelConfig).default({}),
  /** Global name -> where programs are run. */
  sandboxes: z.record(globalName, sandboxConfig).default({}),
  listen: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      /** 0: a free port. */
      port: z.int().min(0).max(65_535).default(8080),
      /** Host names accepted from requests without a key. `*.example.com`: all subdomains; `*`: any name. */
      allowed_hosts: z.array(hostPattern).default([]),
    })
    .prefault({}),
  /** Name for logs and limits -> API key. */
  keys: z.record(globalName, keyConfig).default({}),
  /** Cache of answers, for all models together. */
  cache: z
    .strictObject({
      max_bytes: z
        .int()
        .min(0)
        .max(64 * 1024 * mebi)
        .default(64 * mebi),
      ttl_s: seconds.default(3600),
    })
    .prefault({}),
  limits: z
    .strictObject({
      max_body_bytes: z
        .int()
        .min(1024)
        .max(1024 * mebi)
        .default(16 * mebi),
      /** Decompressed bodies of all concurrent requests; a request that does not fit is refused with 429 before it is read. */
      max_bodies_bytes: z
        .int()
        .min(1024)
        .default(1024 * mebi),
      /** Memory of questions that wait until an instance of their model is available; absent: two fifths of the heap. Read at startup only. */
      max_parked_bytes: z.int().min(0).optional(),
      /** Maximum concurrent samples; more are refused with 429, and more in one request with 413. */
      max_samples: z.int().min(1).default(65_536),
      /** Maximum JSON values of a row; a larger one is `bad_sample` and is not parsed. Keys count, numbers count an eighth. */
      max_row_values: z.int().min(100).max(10_000_000).default(50_000),
      /** Time limit of a request. A reward or a trainer's format may set a shorter one. */
      deadline_s: seconds.default(600),
      /** Time limit for receiving a request's headers and body. Read at startup only. */
      receive_s: seconds.default(60),
    })
    .prefault({}),
  /** How SIGTERM shuts the server down. */
  shutdown: z
    .strictObject({
      /** How long requests are still accepted while /readyz fails, so that load balancers notice. */
      pre_stop_s: z.number().min(0).max(3600).default(0),
      /** Time for running requests to finish after that. */
      grace_s: z.number().min(0).max(86_400).default(30),
    })
    .prefault({}),
  log: z
    .strictObject({
      /** Logs each sample that took longer, without its texts; absent: none. */
      slow_sample_s: z.number().min(0).max(86_400).optional(),
    })
    .prefault({}),
  functions: z
    .strictObject({
      /** Folders of your reward functions, relative to this file. */
      folders: z.array(z.string().min(1)).default([]),
      /** Worker threads, and processes for each of these folders; absent: one fewer than the cores, at most four. */
      threads: z.int().min(1).max(256).optional(),
      /** Private memory of one Node process that runs these functions. */
      memory_mb: z.int().min(128).max(1_048_576).default(1024),
      /** Time limit of one call of a function. */
      timeout_s: seconds.default(5),
      /** The processes that run Python files. */
      python: z
        .strictObject({
          /** The interpreter, 3.9 or later. */
          command: z.string().min(1).default('python3'),
          processes: z.int().min(1).max(256).default(2),
          /** Private memory of one process; a sample that needs more fails. */
          memory_mb: z.int().min(64).default(4096),
        })
        .prefault({}),
    })
    .prefault({}),
  guard: z
    .strictObject({
      /** The environment variable with the key of the fences around untrusted text; absent: a new random key at each start. */
      secret_env: variable.optional(),
    })
    .prefault({}),
  /** The trainers' own formats. */
  trainers: trainersConfig.prefault({}),
  /** Asks every judge known questions periodically; absent: off. */
  canary: canaryConfig.optional(),
  /** Samples that new configs must score correctly before they are served; absent: none. */
  reload: reloadConfig.optional(),
  /** The page at /ui. */
  inspector: z
    .strictObject({
      /** `false`: no page, and nothing is kept for it. Read at startup only. */
      enabled: z.boolean().default(true),
      /** How it shows texts, but never more than the record keeps. Absent: as the record, or `hash` without one. */
      text: z.enum(['full', 'hash', 'none']).optional(),
    })
    .prefault({}),
  /** Records scored rows; absent: off. */
  record: recordConfig.optional(),
  /** Accepts rollouts on disk and scores them later; absent: off. */
  queue: queueConfig.optional(),
})

/** gateway.yaml with defaults and absolute paths. */
export type GatewaySettings = Readonly<Omit<z.output<typeof gatewayConfig>, 'models' | '$schema'>>
/** gateway.yaml with defaults. */
export type GatewayConfig = z.output<typeof gatewayConfig>

/** File name in rm-configs/ -> JSON Schema for editors. */
export function configSchemas(): Readonly<Record<string, object>> {
  return {
    'gateway.schema.json': {
      title: 'gateway.yaml of reward-gateway',
      ...z.toJSONSchema(gatewayConfig, { io: 'input' }),
    },
    'reward.schema.json': {
      title: 'An rm-config of reward-gateway',
      ...z.toJSONSchema(rewardConfig, { io: 'input' }),
    },
  }
}
