import type { Readable } from 'node:stream'

/** One event of a stream: its name and its data. */
export interface StreamEvent {
  readonly name: string
  readonly data: Record<string, unknown>
}

/** Reads server-sent events; `next` waits for the next one with this name, null: the stream has ended. */
export function readEvents(stream: Readable): {
  next(name: string): Promise<Record<string, unknown> | null>
  readonly all: readonly StreamEvent[]
} {
  const all: StreamEvent[] = []
  let rest = ''
  const arriving = stream.setEncoding('utf8')[Symbol.asyncIterator]()
  const unread: StreamEvent[] = []
  const take = (text: string): void => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? []
      if (name === undefined || data === undefined) continue
      const event = { name, data: JSON.parse(data) }
      all.push(event)
      unread.push(event)
    }
  }
  return {
    all,
    async next(name) {
      for (;;) {
        const at = unread.findIndex((event) => event.name === name)
        if (at >= 0) return unread.splice(0, at + 1).at(-1)?.data ?? null
        const { done, value } = await arriving.next()
        if (done) return null
        take(value as string)
      }
    },
  }
}
