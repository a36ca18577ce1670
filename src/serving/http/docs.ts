import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'

/**
 * Serves /docs and /openapi.json of the routes that are added after this. What makes them is loaded with the first request for
 * one of them: few servers are asked, and every start would take a tenth longer.
 */
export function serveDocs(app: FastifyInstance, version: string): void {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') routes.push(route)
  })
  let pages: Promise<FastifyInstance> | null = null
  const opened = (): Promise<FastifyInstance> => {
    pages ??= import('./docs-pages.ts').then(({ openDocs }) => openDocs(routes, version))
    pages.catch(() => {
      pages = null
    })
    return pages
  }
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { routing } = await opened()
    // The pages know this request by the same name, and add to the headers that every reply has.
    request.raw.headers['x-request-id'] = request.id
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value)
    reply.hijack()
    routing(request.raw, reply.raw)
  }
  for (const url of ['/docs', '/docs/*', '/openapi.json'])
    app.get(url, { schema: { hide: true }, logLevel: 'warn', config: { scope: 'open' } }, answer)
}
