/** Characters of one event at most; what is longer is not from this gateway. */
const longest = 32 * 1024 * 1024

/** Reads server-sent events to their end; calls `heard` once an event. Rejects where the stream breaks off. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  heard: (name: string, data: unknown) => void,
): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader()
  let rest: string[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    rest.push(value)
    length += value.length
    if (length > longest) throw new RangeError('the stream holds no events')
    if (!value.includes('\n')) continue
    const blocks = rest.join('').split('\n\n')
    const last = blocks.pop() ?? ''
    rest = [last]
    length = last.length
    for (const block of blocks) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? []
      if (name !== undefined && data !== undefined) heard(name, JSON.parse(data))
    }
  }
}
