import { GatewayError } from '../../core/errors.ts'
import { keepSecret } from '../../core/secrets.ts'
import type { Io } from '../command.ts'
import { misused, text } from '../options.ts'

/** Options of commands that talk to the queue of a gateway. */
export const runOptions = {
  url: text('URL', 'the address of the gateway', { or: 'http://127.0.0.1:8080' }),
  run: text('NAME', 'the name of the run'),
  'key-env': text(
    'VARIABLE',
    'the environment variable with a key of scope score, where the gateway wants one',
  ),
}

interface Target {
  readonly url: string
  readonly run: string | undefined
  readonly 'key-env': string | undefined
}

const pause = { first: 500, most: 30_000 }

/** One run of a gateway. A gateway that is away, restarting or full is asked again until the command is stopped. */
export class RunClient {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #io: Io

  /** Throws RG_COMMAND_INVALID. */
  constructor({ url, run, 'key-env': variable }: Target, command: string, io: Io) {
    if (!run) throw misused('--run is needed', command)
    if (!/^https?:\/\//.test(url) || !URL.canParse(url))
      throw misused(`--url must be an http address, not ${url}`, command)
    const key = variable === undefined ? undefined : io.env[variable]
    if (variable !== undefined && !key)
      throw misused(`the environment variable ${variable} is not set`, command)
    if (variable !== undefined) keepSecret(variable, key)
    this.#base = `${url.replace(/\/+$/, '')}/v1/runs/${encodeURIComponent(run)}`
    this.#headers = key ? { authorization: `Bearer ${key}` } : {}
    this.#io = io
  }

  /**
   * Sends a request until it is answered; a batch of which no line was accepted is answered, too. Rejects with RG_INPUT_INVALID if the gateway
   * refuses it, and if the command is stopped.
   */
  async request(
    path: string,
    body?: string,
  ): Promise<Readonly<Record<string, unknown>> & { retryAfterMs: number }> {
    let wait = pause.first
    let wasTold = false
    for (;;) {
      const reply = await this.#send(path, body)
      if (typeof reply !== 'string' && isRecord(reply.json)) {
        const { status, json, retryAfterMs } = reply
        if (status < 400 || Array.isArray(json.results)) return { ...json, retryAfterMs }
      }
      const mayChange = typeof reply === 'string' || reply.status === 429 || reply.status === 503
      const told = typeof reply === 'string' ? reply : errorIn(reply.json, reply.status)
      if (!mayChange) throw new GatewayError('RG_INPUT_INVALID', told)
      if (!wasTold) this.tellWait(told)
      wasTold = true
      await this.wait(Math.max(wait, typeof reply === 'string' ? 0 : reply.retryAfterMs))
      wait = Math.min(pause.most, 2 * wait)
    }
  }

  /** Says why the command waits. */
  tellWait(reason: string): void {
    this.#io.stderr.write(`waiting: ${reason}\n`)
  }

  /** Rejects if the command is stopped. */
  async wait(ms: number): Promise<void> {
    const { setTimeout } = await import('node:timers/promises')
    await setTimeout(ms, undefined, { signal: this.#io.signal })
  }

  /** The reply, or why there is none. */
  async #send(path: string, body: string | undefined) {
    try {
      const reply = await fetch(this.#base + path, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...this.#headers, ...(body !== undefined && { 'content-type': 'application/x-ndjson' }) },
        redirect: 'error',
        signal: this.#io.signal,
        ...(body !== undefined && { body }),
      })
      const json: unknown = await reply.json()
      const retryAfterMs = 1000 * (Number(reply.headers.get('retry-after')) || 0)
      return { status: reply.status, json, retryAfterMs }
    } catch (error) {
      if (this.#io.signal.aborted) throw error
      return `${this.#base} does not answer`
    }
  }
}

/** An object that is no list. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function errorIn(json: unknown, status: number): string {
  const error = isRecord(json) && isRecord(json.error) ? json.error : {}
  return typeof error.message === 'string' ? error.message : `the gateway answers with status ${status}`
}
