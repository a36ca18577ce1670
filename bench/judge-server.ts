/** Judges on consecutive ports that answer at once, with as little work as possible, so that they never decide a comparison. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

const reply = (count: number): string =>
  JSON.stringify({
    id: 'x',
    object: 'chat.completion',
    created: 0,
    model: 'judge',
    choices: Array.from({ length: count }, (_, index) => ({
      index,
      message: { role: 'assistant', content: '1' },
      finish_reason: 'stop',
    })),
    usage: { prompt_tokens: 500 * count, completion_tokens: count, total_tokens: 501 * count },
  })
const answer = reply(1)
/** Of a conversation; quotes in a text are escaped. */
const beginning = '[{"role":'
const headersOf = (text: string) => ({
  'content-type': 'application/json',
  'content-length': Buffer.byteLength(text),
})
const headers = headersOf(answer)

/** /v1/chat/completions/batch: a list of conversations, which are counted without a look at their texts. */
function answerAll(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks)
    let count = 0
    for (let at = body.indexOf(beginning); at >= 0; at = body.indexOf(beginning, at + 1)) count += 1
    const text = reply(count)
    response.writeHead(200, headersOf(text)).end(text)
  })
}

const [port = 8494, count = 1] = process.argv.slice(2).map(Number)
for (let index = 0; index < count; index++) {
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/batch')) return answerAll(request, response)
    request.resume()
    request.on('end', () => response.writeHead(200, headers).end(answer))
  })
  // On a busy machine a client may pause longer than Node's 5 s before it uses a connection again.
  server.keepAliveTimeout = 600_000
  server.listen(port + index, '127.0.0.1')
}
