import type { FastifyInstance } from 'fastify'
import { routePattern } from './request-context.ts'

const always = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}

/** What a reply that is no page says to browsers. */
export const apiHeaders = {
  ...always,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

const pages = /^\/(?:docs|ui)(?:\/|$)/

/** Tells browsers to take replies for what they say they are; pages say themselves what they load. */
export function setSecurityHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(pages.test(routePattern(request)) ? always : apiHeaders)
    done()
  })
}
