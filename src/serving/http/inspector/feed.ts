import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Clock } from '../../../core/clock.ts'
import type { ObservedGateway } from '../../observed-gateway.ts'
import type { LiveView } from '../../telemetry/live/live.ts'
import { scoredMessage, servedMark, servedMessage, standingMessage } from './messages.ts'

/** Somebody who looks at the page. */
interface Listener {
  /** Takes a message; false: it has not taken the earlier ones and is let go. */
  send(message: string): boolean
  /** Whether it still may look; asked before each message. */
  mayLook(): boolean
  /** The last call. */
  end(): void
}

/** Tells all listeners the same, at most once a second, and does nothing while there is none. */
interface Feed {
  /** Sends everything that is kept, then what changes; the returned function stops that. null: there are too many. */
  listen(listener: Listener): (() => void) | null
  readonly listeners: number
  close(): void
}

/** Pages that are told at once; one more is refused. */
export const maxListeners = 16
const tickMs = 1000
/** Ticks without news between two signs of life. */
const keepAliveTicks = 15

/** Ticks only while somebody listens. */
export function openFeed(gateway: ObservedGateway, live: LiveView, clock: Clock): Feed {
  const listeners = new Set<Listener>()
  let cancel: (() => void) | null = null
  let unwatch: (() => void) | null = null
  let isClosed = false
  let mark = ''
  let standing = ''
  let told = { at: 0, serial: 0, rows: 0 }
  let quiet = 0

  const rowsCounted = () => [...live.rewards.values()].reduce((sum, { rows }) => sum + rows, 0)
  const leave = (listener: Listener): void => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    cancel?.()
    unwatch?.()
    cancel = null
    unwatch = null
  }
  const tell = (message: string): void => {
    for (const listener of listeners) {
      if (listener.mayLook() && listener.send(message)) continue
      leave(listener)
      listener.end()
    }
  }
  /** What has changed since the last tick; '' for nothing. */
  const news = (): string => {
    const now = live.now()
    const next = servedMark(gateway, live)
    const served = next === mark ? '' : event('served', servedMessage(gateway, live))
    const stands = JSON.stringify(standingMessage(gateway))
    const stood = stands === standing ? '' : `event: standing\ndata: ${stands}\n\n`
    const rows = rowsCounted()
    const scored = rows === told.rows ? '' : event('scored', scoredMessage(live, told.at, told.serial))
    mark = next
    standing = stands
    told = { at: now, serial: live.newest, rows }
    return `${served}${stood}${scored}`
  }
  const tick = (): void => {
    cancel = clock.after(tickMs, tick)
    const message = news()
    quiet = message === '' ? quiet + 1 : 0
    if (message !== '') tell(message)
    else if (quiet % keepAliveTicks === 0) tell(': alive\n\n')
  }
  return {
    get listeners() {
      return listeners.size
    },
    listen(listener) {
      if (isClosed || listeners.size >= maxListeners) return null
      // What it is told twice says the same: slots and rows replace those with their name.
      if (listeners.size === 0) news()
      listener.send(
        [
          event('served', servedMessage(gateway, live)),
          event('standing', standingMessage(gateway)),
          event('scored', scoredMessage(live, 0, 0)),
        ].join(''),
      )
      listeners.add(listener)
      unwatch ??= live.watch()
      cancel ??= clock.after(tickMs, tick)
      return () => leave(listener)
    },
    close() {
      isClosed = true
      for (const listener of [...listeners]) {
        leave(listener)
        listener.end()
      }
    },
  }
}

/** JSON holds no line break, so that it is one line of the stream. */
const event = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** Characters that a listener may leave unread before it is let go. */
const maxUnread = 4 * 1024 * 1024
/** What the last bytes have to reach somebody who has been let go. */
const partingMs = 1000

/** A reply as a stream of events; `body` is what is sent. */
export function eventStream(
  reply: FastifyReply,
  mayLook: () => boolean,
  clock: Clock,
): { readonly body: Readable; readonly listener: Listener } {
  const { raw } = reply
  const body = new Readable({ read() {} })
  const listener: Listener = {
    mayLook,
    send(message) {
      if (body.readableLength + raw.writableLength > maxUnread) return false
      body.push(message)
      return true
    },
    end() {
      body.push(null)
      // Whoever reads nothing would keep a closing server waiting.
      const cancel = clock.after(partingMs, () => raw.destroy())
      if (raw.destroyed) cancel()
      else raw.once('close', cancel)
    },
  }
  return { body, listener }
}
