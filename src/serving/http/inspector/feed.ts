import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import type { ObservedGateway } from '../../observed-gateway.ts'
import type { LiveView } from '../../telemetry/live/live.ts'
import { scoredMessage, servedKey, servedMessage, statusMessage } from './messages.ts'

/** Pages that may listen at once. */
export const maxListeners = 16
const tickMs = 1000
/** Ticks without news between two keep-alive comments. */
const keepAliveTicks = 15
/** Characters that a listener may leave unread before it is dropped. */
const maxUnread = 4 * 1024 * 1024
/** How long a dropped listener may take to receive what was already sent. */
const lingerMs = 1000

/** An open page. */
interface Listener {
  /** Returns false if the page is too far behind; it is then dropped. */
  send(message: string): boolean
  /** Whether its key still allows reading; asked before each message. */
  mayRead(): boolean
  end(): void
}

/** Sends the same server-sent events to every open page, at most once per second. Does nothing while no page is open. */
export class InspectorFeed {
  readonly #gateway: ObservedGateway
  readonly #live: LiveView
  readonly #clock: Clock
  readonly #hasQueue: boolean
  readonly #listeners = new Set<Listener>()
  #cancelTick: (() => void) | null = null
  #unwatch: (() => void) | null = null
  #isClosed = false
  /** What was sent last. */
  #sent = { served: '', status: '', at: 0, serial: 0, rows: 0 }
  #quietTicks = 0

  constructor(gateway: ObservedGateway, live: LiveView, clock: Clock, hasQueue: boolean) {
    this.#gateway = gateway
    this.#live = live
    this.#clock = clock
    this.#hasQueue = hasQueue
  }

  get listeners(): number {
    return this.#listeners.size
  }

  /** Sends everything that is kept, then changes. The returned function stops that; null if too many pages are open. */
  listen(listener: Listener): (() => void) | null {
    if (this.#isClosed || this.#listeners.size >= maxListeners) return null
    // Sending something twice is harmless: slots and rows replace those with the same name.
    if (this.#listeners.size === 0) this.#news()
    listener.send(
      [
        event('served', servedMessage(this.#gateway, this.#live, this.#hasQueue)),
        event('status', statusMessage(this.#gateway)),
        event('scored', scoredMessage(this.#live, 0, 0)),
      ].join(''),
    )
    this.#listeners.add(listener)
    this.#unwatch ??= this.#live.watch()
    this.#cancelTick ??= this.#clock.after(tickMs, this.#tick)
    return () => this.#leave(listener)
  }

  close(): void {
    this.#isClosed = true
    for (const listener of [...this.#listeners]) {
      this.#leave(listener)
      listener.end()
    }
  }

  readonly #tick = (): void => {
    this.#cancelTick = this.#clock.after(tickMs, this.#tick)
    const message = this.#news()
    this.#quietTicks = message === '' ? this.#quietTicks + 1 : 0
    if (message !== '') this.#sendAll(message)
    else if (this.#quietTicks % keepAliveTicks === 0) this.#sendAll(': alive\n\n')
  }

  /** What has changed since the last tick; '' if nothing has. */
  #news(): string {
    const now = this.#live.now()
    const served = servedKey(this.#gateway, this.#live)
    const status = JSON.stringify(statusMessage(this.#gateway))
    const rows = [...this.#live.rewards.values()].reduce((sum, reward) => sum + reward.rows, 0)
    const before = this.#sent
    this.#sent = { served, status, at: now, serial: this.#live.newest, rows }
    return [
      served === before.served
        ? ''
        : event('served', servedMessage(this.#gateway, this.#live, this.#hasQueue)),
      status === before.status ? '' : `event: status\ndata: ${status}\n\n`,
      rows === before.rows ? '' : event('scored', scoredMessage(this.#live, before.at, before.serial)),
    ].join('')
  }

  #sendAll(message: string): void {
    for (const listener of this.#listeners) {
      if (listener.mayRead() && listener.send(message)) continue
      this.#leave(listener)
      listener.end()
    }
  }

  #leave(listener: Listener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    this.#cancelTick?.()
    this.#unwatch?.()
    this.#cancelTick = null
    this.#unwatch = null
  }
}

/** JSON contains no line break, so the data is one line of the stream. */
const event = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** A listener that writes to `body`, which the route sends as its reply. */
export function eventStream(
  reply: FastifyReply,
  mayRead: () => boolean,
  clock: Clock,
): { readonly body: Readable; readonly listener: Listener } {
  const { raw } = reply
  const body = new Readable({ read() {} })
  const listener: Listener = {
    mayRead,
    send(message) {
      if (body.readableLength + raw.writableLength > maxUnread) return false
      body.push(message)
      return true
    },
    end() {
      body.push(null)
      // A page that reads nothing must not keep a closing server waiting.
      const cancel = clock.after(lingerMs, () => raw.destroy())
      if (raw.destroyed) cancel()
      else raw.once('close', cancel)
    },
  }
  return { body, listener }
}
