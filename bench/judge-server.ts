/** Judges on consecutive ports that answer at once, with as little work as possible, so that they never decide a comparison. */
import { createServer } from 'node:http'

const answer = JSON.stringify({
  id: 'x',
  object: 'chat.completion',
  created: 0,
  model: 'judge',
  choices: [{ index: 0, message: { role: 'assistant', content: '1' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 500, completion_tokens: 1, total_tokens: 501 },
})
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) }

const [port = 8494, count = 1] = process.argv.slice(2).map(Number)
for (let index = 0; index < count; index++) {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(200, headers).end(answer))
  })
  // On a busy machine a client may pause longer than Node's 5 s before it uses a connection again.
  server.keepAliveTimeout = 600_000
  server.listen(port + index, '127.0.0.1')
}
