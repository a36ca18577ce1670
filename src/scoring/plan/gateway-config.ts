import { z } from 'zod'
import { modelConfig } from '../models/api/model-config.ts'
import { canaryConfig } from './canary-config.ts'
import { recordConfig } from './record-config.ts'
import { reloadConfig } from './reload-config.ts'
import { globalName } from './reward-config.ts'
import { trainersConfig } from './trainers-config.ts'

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
