import { z } from 'zod'
import type { TrainerFormat } from '../../trainers/format.ts'
import { trainerFormats } from '../../trainers/index.ts'
import { modelConfig } from '../models/api/model-config.ts'
import { globalName, rewardConfig, wireOnInvalid } from './reward-config.ts'

const seconds = z.number().positive().max(86_400)
const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "the name of an environment variable, without '$'")
const mebi = 1024 * 1024
const hostPattern = z.string().regex(/^(?:\*|(?:\*\.)?[\w-]+(?:\.[\w-]+)*)$/, {
  error: "a host name without scheme and port, '*.' and one, or '*'",
})

/** What a key may do: `score` samples and ask models, `read` what is served and measured, `admin` everything. */
export const scopes = ['score', 'read', 'admin'] as const
/** One of them. */
export type Scope = (typeof scopes)[number]

const keyConfig = z
  .strictObject({
    /** The environment variable that holds the key, or several apart by white space. */
    env: variable.optional(),
    /** The file that holds it; relative to this file. */
    file: z.string().min(1).optional(),
    scopes: z.array(z.enum(scopes)).min(1).default(['score', 'read']),
    /** Requests that score or ask models in work at once; more are refused with 429. */
    max_in_flight: z.int().min(1).optional(),
    /** Samples in work at once; a request alone may bring more. */
    max_samples: z.int().min(1).optional(),
    /** Requests a second, a second's worth at once. */
    rate_per_s: z.number().positive().max(1_000_000).optional(),
  })
  .refine(({ env, file }) => (env === undefined) !== (file === undefined), {
    error: 'give one of env and file: where the key is kept',
  })

/** Where a key is kept and what it may do. */
export type KeyConfig = z.output<typeof keyConfig>

const settings = {
  /** Below the trainer's own patience; the wire's own by default. */
  deadline_s: z.number().positive().max(86_400).optional(),
  /** Over the reward's: what stands for what cannot be scored, or an error to the trainer. */
  on_invalid: wireOnInvalid.optional(),
  /** JSON lines with the truth of each prompt, for trainers that send none; relative to this file. */
  ground_truth_file: z.string().min(1).optional(),
}

/** A wire that tells of invalid samples itself takes no number for them, one that looks nothing up no file. */
function settingsOf({ routes, looksUp }: TrainerFormat): z.ZodOptional<z.ZodObject<typeof settings>> {
  const { deadline_s, on_invalid, ground_truth_file } = settings
  const tellsAlways = Object.values(routes).every(({ invalid }) => invalid === 'told')
  const taken = { deadline_s, ...(!tellsAlways && { on_invalid }), ...(looksUp && { ground_truth_file }) }
  return z.strictObject(taken as typeof settings).optional()
}

/** Settings of the trainers' own formats, by the wire's name. */
const trainersConfig: z.ZodObject<Record<string, ReturnType<typeof settingsOf>>> = z.strictObject(
  Object.fromEntries(trainerFormats.map((wire) => [wire.name, settingsOf(wire)])),
)

/** A sample, and the bounds of what is known of its score. */
const knownSample = z.strictObject({
  /** For logs and metrics. */
  name: z.string().min(1).max(64),
  prompt: z.string().default(''),
  response: z.string(),
  ground_truth: z.unknown().optional(),
  rm_prompt: z.string().optional(),
  extra_info: z.record(z.string(), z.unknown()).default({}),
  /** The score lies within these, ends included. */
  min: z.number().optional(),
  max: z.number().optional(),
})

/** A sample whose verdict is known. */
const probe = knownSample.refine(
  ({ min, max }) => min !== undefined || max !== undefined,
  'a probe needs min or max',
)

/** `canary:` of gateway.yaml. */
const canaryConfig = z.strictObject({
  every_s: seconds.default(60),
  /** One probe. */
  timeout_s: seconds.default(30),
  /** Rounds in a row with a wrong verdict that take an instance out. */
  wrong_rounds: z.int().min(1).max(100).default(2),
  /** More of the last 20 answers without a verdict take it out, too. */
  max_unreadable: z.number().min(0).max(1).default(0.3),
  /** false: only tell. */
  eject: z.boolean().default(true),
  /** By function name, in place of the shipped probes of that function. */
  probes: z.record(z.string(), z.array(probe).max(64)).default({}),
})

/** A sample whose reward is known, with defaults filled in. */
export type KnownSample = z.output<typeof knownSample>

/** `reload:` of gateway.yaml: what is scored with configs that were read anew before they are served. */
const reloadConfig = z.strictObject({
  /** By reward; those of one reward are scored as one request. */
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
  /** How far a sample's reward may be from what the served configs give it; absent: any, within its min and max. */
  max_change: z.number().min(0).optional(),
  /** For all of them. */
  timeout_s: z.number().positive().max(3600).default(60),
})

const bytes = z.int().min(64 * 1024)

/** `record:` of gateway.yaml. */
const recordConfig = z.strictObject({
  /** Relative to this file. */
  folder: z.string().min(1),
  /** Prompts, responses and what judges said of them: whole, as hashes, or not at all. */
  text: z.enum(['full', 'hash', 'none']).default('hash'),
  /** Share of the groups of each request. */
  share: z.number().min(0).max(1).default(1),
  /** Compressed; a file is closed once it is so long, or so old. */
  max_file_bytes: bytes.default(64 * mebi),
  max_file_age_s: z.number().positive().max(86_400).default(3600),
  /** Of all record files in the folder; the oldest are deleted. */
  max_total_bytes: bytes.default(4096 * mebi),
})

/** What all rewards share. */
export const gatewayConfig = z.strictObject({
  $schema: z.string().optional(),
  /** Reward models by their global names. */
  models: z.record(globalName, modelConfig).default({}),
  listen: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      /** 0: any free port. */
      port: z.int().min(0).max(65_535).default(8080),
      /** Names that requests without a key may come by, `*.example.com` for all below, `*` for any. */
      allowed_hosts: z.array(hostPattern).default([]),
    })
    .prefault({}),
  /** Who may call, by a name for logs and limits. */
  keys: z.record(globalName, keyConfig).default({}),
  /** Kept answers of all models together. */
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
      /** Bodies of all requests in work together, unpacked; what does not fit is refused with 429 before it is read. */
      max_bodies_bytes: z
        .int()
        .min(1024)
        .default(1024 * mebi),
      /** Memory of questions that wait because no instance of their model can be asked; absent: two fifths of the heap. Read at the start only. */
      max_parked_bytes: z.int().min(0).optional(),
      /** Samples in work over all requests; more are refused with 429, and more in one request with 413. */
      max_samples: z.int().min(1).default(65_536),
      /** Values of one row; one that holds more is `bad_sample` and is not parsed. Names count, numbers an eighth. */
      max_row_values: z.int().min(100).max(10_000_000).default(50_000),
      /** The longest a request may take; a reward or a wire may say less. */
      deadline_s: seconds.default(600),
      /** The longest that headers and body of a request may take to come; read at the start only. */
      receive_s: seconds.default(60),
    })
    .prefault({}),
  /** What SIGTERM does. */
  shutdown: z
    .strictObject({
      /** How long requests are still taken while /readyz says no; for load balancers that ask it. */
      pre_stop_s: z.number().min(0).max(3600).default(0),
      /** What requests in work are given after that. */
      grace_s: z.number().min(0).max(86_400).default(30),
    })
    .prefault({}),
  log: z
    .strictObject({
      /** A sample that took longer gets a line, without its texts; absent: none does. */
      slow_sample_s: z.number().min(0).max(86_400).optional(),
    })
    .prefault({}),
  functions: z
    .strictObject({
      /** Folders of reward functions beside the package's own; relative to this file. */
      folders: z.array(z.string().min(1)).default([]),
      /** Worker threads, and processes for each folder of users' functions; absent: one fewer than the cores, four at most. */
      threads: z.int().min(1).max(256).optional(),
      /** Private memory of one Node process of users' functions. */
      memory_mb: z.int().min(128).max(1_048_576).default(1024),
      /** One call of author's code; what takes longer is ended. */
      timeout_s: seconds.default(5),
      /** The processes that run Python files. */
      python: z
        .strictObject({
          /** The interpreter, 3.9 or later. */
          command: z.string().min(1).default('python3'),
          processes: z.int().min(1).max(256).default(2),
          /** Private memory of one process; what goes beyond it is an error of its sample. */
          memory_mb: z.int().min(64).default(4096),
        })
        .prefault({}),
    })
    .prefault({}),
  guard: z
    .strictObject({
      /** Holds the key of the fences around untrusted text; absent: a random one each start. */
      secret_env: variable.optional(),
    })
    .prefault({}),
  /** The trainers' own formats. */
  trainers: trainersConfig.prefault({}),
  /** Known questions to every judge from time to time; absent: none. */
  canary: canaryConfig.optional(),
  /** Samples that configs which were read anew must score well before they are served; absent: none. */
  reload: reloadConfig.optional(),
  /** The page at /ui. */
  inspector: z
    .strictObject({
      /** false: there is none, and nothing is kept for it. Read at the start only. */
      enabled: z.boolean().default(true),
      /** What it shows of texts; never more than the record keeps. Absent: as the record, `hash` where there is none. */
      text: z.enum(['full', 'hash', 'none']).optional(),
    })
    .prefault({}),
  /** Where scored rows are written down; absent: nowhere. */
  record: recordConfig.optional(),
})

/** gateway.yaml with its defaults filled in and its paths made absolute. */
export type GatewaySettings = Readonly<Omit<z.output<typeof gatewayConfig>, 'models' | '$schema'>>
/** gateway.yaml with its defaults. */
export type GatewayConfig = z.output<typeof gatewayConfig>

/** JSON Schemas of the two kinds of config, for editors, by their file names in rm-configs/. */
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
