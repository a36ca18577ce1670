import { z } from 'zod'
import { modelConfig } from '../models/model-config.ts'
import { globalName } from './reward-config.ts'

const seconds = z.number().positive().max(86_400)
const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "the name of an environment variable, without '$'")
const mebi = 1024 * 1024

/** Who may call, and how much of the gateway one caller may use. */
const keyConfig = z
  .strictObject({
    /** For logs and metrics. */
    name: globalName,
    /** The key's SHA-256 in hex, or the environment variable that holds the key. */
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, '64 hex digits, lower case')
      .optional(),
    key_env: variable.optional(),
    scopes: z
      .array(z.enum(['score', 'read', 'admin']))
      .min(1)
      .default(['score', 'read']),
    /** Samples a second, averaged over ten; absent: no limit. */
    samples_per_s: z.number().positive().optional(),
    /** Samples in work; absent: no limit of its own. */
    max_samples: z.int().min(1).optional(),
  })
  .refine(({ sha256, key_env }) => (sha256 === undefined) !== (key_env === undefined), {
    error: 'a key needs either sha256 or key_env',
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
    })
    .prefault({}),
  limits: z
    .strictObject({
      max_body_bytes: z
        .int()
        .min(1024)
        .max(1024 * mebi)
        .default(16 * mebi),
      max_samples_per_request: z.int().min(1).default(65_536),
      /** Samples in work over all requests; more are refused with 429. */
      max_samples: z.int().min(1).default(65_536),
      /** The longest a request may take; a reward or a wire may say less. */
      deadline_s: seconds.default(600),
      /** What SIGTERM gives requests in work. */
      drain_s: z.number().min(0).max(86_400).default(30),
    })
    .prefault({}),
  functions: z
    .strictObject({
      /** Folders of reward functions beside the package's own; relative to this file. */
      folders: z.array(z.string().min(1)).default([]),
      /** Worker threads; absent: one fewer than the cores, four at most. */
      threads: z.int().min(1).max(256).optional(),
      /** One call of author's code; what takes longer is ended. */
      timeout_s: seconds.default(5),
    })
    .prefault({}),
  /** Absent or empty: everybody who reaches the address may call. */
  keys: z.array(keyConfig).default([]),
  guard: z
    .strictObject({
      /** Holds the key of the fences around untrusted text; absent: a random one each start. */
      secret_env: variable.optional(),
    })
    .prefault({}),
  /** Where scored samples are written down; absent: nowhere. */
  record: z
    .strictObject({
      /** Relative to this file. */
      folder: z.string().min(1),
      /** Prompts and responses: whole, as hashes, or not at all. */
      text: z.enum(['full', 'hash', 'none']).default('hash'),
      /** Share of the samples that are recorded. */
      share: z.number().min(0).max(1).default(1),
      max_file_bytes: z
        .int()
        .min(64 * 1024)
        .default(64 * mebi),
      /** The oldest files are deleted. */
      max_files: z.int().min(1).default(32),
    })
    .optional(),
  /** Settings of single trainers' formats, by the wire's name. */
  wires: z
    .record(
      globalName,
      z.strictObject({
        /** As in a reward; a number or null where the trainer's format has room for nothing else. */
        on_invalid: z
          .union([z.null(), z.number(), z.enum(['fail', 'group_mean'])], {
            error: "null, a number, 'fail' or 'group_mean'",
          })
          .optional(),
        /** Rows with the ground truth of each prompt, for trainers that send none; relative to this file. */
        truths: z.string().min(1).optional(),
        /** Below the trainer's own patience. */
        deadline_s: seconds.optional(),
      }),
    )
    .default({}),
})

/** gateway.yaml with its defaults filled in and its paths made absolute. */
export type GatewaySettings = Readonly<Omit<z.output<typeof gatewayConfig>, 'models' | '$schema'>>
export type GatewayConfig = z.output<typeof gatewayConfig>
